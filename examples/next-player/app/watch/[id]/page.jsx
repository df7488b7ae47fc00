import { baseURL, kinora } from '../../kinora.js';
import { Player } from '../../player.jsx';

/** /watch/<asset id> */
export default async function Watch({ params }) {
  const { id } = await params;
  const [asset, { environment_id }] = await Promise.all([
    kinora().video.assets.retrieve(id),
    kinora().system.utilities.whoami(),
  ]);
  if (asset.status !== 'ready') return <p>This video is {asset.status}.</p>;
  return (
    <main>
      <h1>{asset.meta?.title ?? 'Untitled'}</h1>
      <Player src={`${baseURL}/${asset.playback_ids[0].id}.m3u8`} environmentId={environment_id} />
    </main>
  );
}
