import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { fixture } from '../../support/fixtures.js';
import { playTree } from '../../support/play.js';
import { type PreparedAsset, startPlayback } from '../../support/playback.js';
import type { OwnedKey } from '../../support/playback-token.js';
import { type PlannedSource, planFile } from '../../support/video-run.js';

let server: Awaited<ReturnType<typeof startPlayback>>;
let source: PlannedSource;
let asset: PreparedAsset;
let mux: ReturnType<typeof server.sdk>;
let key: OwnedKey;

const newKey = async (): Promise<OwnedKey> => {
  const { id, private_key } = await mux.system.signingKeys.create();
  return { keyId: id, keySecret: private_key! };
};

beforeAll(async () => {
  server = await startPlayback();
  mux = server.sdk();
  source = await planFile(await fixture('h264-aac.mp4'));
  asset = await server.addAsset(source, 'Harbour walk');
});
beforeEach(async () => {
  key = await newKey();
});
afterAll(() => server?.stop());

test('a token of the SDK plays a signed id through all its playlists and segments', async () => {
  const token = await mux.jwt.signPlaybackId(asset.signedId, { ...key, expiration: '1h' });
  const signed = await playTree(`${server.origin}/${asset.signedId}.m3u8?token=${token}`);
  const open = await playTree(`${server.origin}/${asset.publicId}.m3u8`);
  expect(signed.map(({ digest }) => digest)).toEqual(open.map(({ digest }) => digest));
  expect(open.length).toBeGreaterThan(source.video.renditions.length + 1);
});
