// node examples/signed-playback.mjs <url>
import { argument, baseURL, mux, whenReady } from './kinora.mjs';

const url = argument('node examples/signed-playback.mjs <url>');
const { id } = await mux.video.assets.create({
  inputs: [{ url }],
  playback_policies: ['signed'],
});
const asset = await whenReady(id);
const playbackId = asset.playback_ids[0].id;

// Create a key once and store its private half with your secrets.
const key = await mux.system.signingKeys.create();
const token = await mux.jwt.signPlaybackId(playbackId, {
  keyId: key.id,
  keySecret: key.private_key,
  type: 'video',
  expiration: '1h',
});
console.log(`${baseURL}/${playbackId}.m3u8?token=${token}`);
