// node examples/create-asset.mjs <url>
import { argument, baseURL, mux, whenReady } from './kinora.mjs';

const url = argument('node examples/create-asset.mjs <url>');
const { id } = await mux.video.assets.create({
  inputs: [{ url }],
  playback_policies: ['public'],
  meta: { title: 'My first asset' },
});
const asset = await whenReady(id);
const playbackId = asset.playback_ids[0].id;
console.log(`Page       ${baseURL}/${playbackId}`);
console.log(`HLS        ${baseURL}/${playbackId}.m3u8`);
console.log(`Thumbnail  ${baseURL}/${playbackId}/thumbnail.jpg?time=1`);
