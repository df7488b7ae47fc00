import type { ReactNode } from 'react';
import { type LiveStreamDetails, liveStreamPath } from '../../api/live-streams';
import { ApiCalls } from '../asset/api/api-calls';

const Api = ({ stream }: { readonly stream: LiveStreamDetails }): ReactNode => {
  // What only the console is told.
  const { connected: _, recording: __, ingest_urls: ___, srt_url: ____, ...json } = stream;
  return <ApiCalls what="live stream" path={liveStreamPath(stream.id)} json={json} />;
};
export default Api;
