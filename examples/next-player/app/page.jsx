'use client';
import { useState } from 'react';

/** A form that uploads a file directly to Kinora. */
export default function Home() {
  const [state, setState] = useState('');
  const upload = async (file) => {
    setState('Uploading …');
    const { url } = await (await fetch('/api/uploads', { method: 'POST' })).json();
    const answer = await fetch(url, { method: 'PUT', body: file });
    setState(answer.ok ? 'Uploaded. The video is ready soon.' : `The upload failed (${answer.status}).`);
  };
  return (
    <main>
      <label>
        Video <input type="file" accept="video/*" onChange={({ target }) => upload(target.files[0])} />
      </label>
      <p role="status">{state}</p>
    </main>
  );
}
