import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { readLoudness } from '../../support/media/measure.js';
import { makeTestAudio, type TestAudio } from '../../support/media/test-audio.js';
import {
  type PlayedRendition,
  playRendition,
  playThrough,
  readMultivariant,
} from '../../support/players/play-through.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { api, createAsset, serveFiles, settled, type WireAsset } from '../../support/wire/create-asset.js';
import { withTracks } from '../../support/wire/tracks.js';

let server: Booted;
let origin: Origin;
let folder: string;
const TRACKS: readonly TestAudio[] = ['loud', 'quiet', 'peaky'];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kinora-loudness-'));
  const paths = TRACKS.map((name) => join(folder, `${name}.wav`));
  for (const [index, name] of TRACKS.entries()) await writeFile(paths[index]!, makeTestAudio(name));
  origin = await serveFiles([...paths, await fixture('h264-aac-5.1.mp4'), await fixture('video-only.mp4')]);
  server = await boot();
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
  await rm(folder, { recursive: true, force: true });
});

const FIVE_ONE = TRACKS.length;
const SILENT = TRACKS.length + 1;
const create = async (main: number, extra: readonly number[], further: object): Promise<WireAsset> => {
  const inputs = [
    { url: `${origin.url}/${main}` },
    ...extra.map((file) => ({
      url: `${origin.url}/${file}`,
      type: 'audio',
      language_code: 'fr',
      name: `file ${file}`,
    })),
  ];
  const { id } = await createAsset(server, { inputs, playback_policies: ['public'], ...further });
  const asset = await withTracks(server, await settled(server, id));
  expect(asset.errors).toBeUndefined();
  return asset;
};
const loudnessOf = ({ init, segments }: PlayedRendition) => readLoudness([init, ...segments.map(({ bytes }) => bytes)]);
const playlist = ({ playback_ids }: WireAsset) => `${server.url}/${playback_ids![0]!.id}.m3u8`;
const loudnessByName = async (asset: WireAsset) => {
  const { audioGroup } = await readMultivariant(playlist(asset));
  const measured: Record<string, { integrated: number; truePeak: number }> = {};
  for (const member of audioGroup) measured[member.attributes.NAME!] = loudnessOf(await playRendition(member));
  return measured;
};
const expectNormal = ({ integrated, truePeak }: { integrated: number; truePeak: number }, label: string): void => {
  expect.soft(Math.abs(integrated + 24), `${label}: ${integrated} LUFS`).toBeLessThan(0.5);
  expect.soft(truePeak, `${label}: ${truePeak} dBTP`).toBeLessThanOrEqual(-2);
};

describe('normalize_audio', () => {
  test('brings loud, quiet and peaky audio to -24 LUFS without peaks above -2 dBTP', async () => {
    const made = await Promise.all(TRACKS.map((_, file) => create(file, [], { normalize_audio: true })));
    for (const [index, asset] of made.entries()) {
      const { variants } = await playThrough(playlist(asset));
      expectNormal(loudnessOf(variants[0]!), TRACKS[index]!);
    }
  });

  test('measures what is played: the down-mix of 5.1, and each alternate audio of the request', async () => {
    const asset = await create(FIVE_ONE, [0, 1, 2], { normalize_audio: true });
    const measured = await loudnessByName(asset);
    expect(Object.keys(measured)).toEqual(['Default', 'file 0', 'file 1', 'file 2']);
    for (const [name, loudness] of Object.entries(measured)) expectNormal(loudness, name);

    // Not of tracks that are added later.
    const body = { type: 'audio', url: `${origin.url}/0`, language_code: 'de', name: 'later' };
    expect((await api(server, 'POST', `/video/v1/assets/${asset.id}/tracks`, body)).status).toBe(201);
    await withTracks(server, asset);
    expect((await loudnessByName(asset)).later!.integrated).toBeGreaterThan(-12);
  });

  test('is done only where it is asked for', async () => {
    const measured = await loudnessByName(await create(SILENT, [0], {}));
    expect(measured['file 0']!.integrated).toBeGreaterThan(-12);
  });
});
