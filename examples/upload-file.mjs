// node examples/upload-file.mjs <file>
import { openAsBlob } from 'node:fs';
import { argument, baseURL, mux, whenReady } from './kinora.mjs';

const file = argument('node examples/upload-file.mjs <file>');
const upload = await mux.video.uploads.create({
  cors_origin: '*',
  new_asset_settings: { playback_policies: ['public'] },
});
// The URL needs no token: give it to a browser, an app or a tus client.
const response = await fetch(upload.url, { method: 'PUT', body: await openAsBlob(file) });
if (!response.ok) throw new Error(`The upload failed: ${response.status} ${await response.text()}`);

let assetId;
while (!assetId) ({ asset_id: assetId } = await mux.video.uploads.retrieve(upload.id));
const asset = await whenReady(assetId);
console.log(`${baseURL}/${asset.playback_ids[0].id}`);
