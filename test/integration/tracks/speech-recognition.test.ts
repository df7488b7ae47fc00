import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Mux from '@mux/mux-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeSpeech } from '../../support/media/spoken-audio.mjs';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { serveFiles, type WireAsset } from '../../support/wire/create-asset.js';
import { eventsOf, eventTypes, toldOfAsset } from '../../support/wire/events.js';
import { recognized, textOf, textsOf } from '../../support/wire/recognized.js';

const SPOKEN = [
  { startSeconds: 2, endSeconds: 5 },
  { startSeconds: 20, endSeconds: 23 },
];
const RECOGNIZER = fileURLToPath(new URL('../../support/processes/recognizer.mjs', import.meta.url));

interface Call {
  readonly language: string;
  readonly phrases: string;
  readonly seconds: number;
  readonly priority: number;
  readonly env: readonly string[];
}

let folder: string;
let log: string;
let origin: Origin;
let server: Booted;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kinora-speech-test-'));
  log = join(folder, 'calls');
  const talk = join(folder, 'talk.wav');
  writeFileSync(talk, makeSpeech(30, SPOKEN));
  origin = await serveFiles([talk]);
  const command = `"${process.execPath}" ${RECOGNIZER} ${log} json {audio} {language} {phrases}`;
  server = await boot({ options: { SPEECH_COMMAND: command } });
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const calls = (): Call[] =>
  readFileSync(log, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Call);
describe('an asset whose speech a program recognizes', () => {
  let asset: WireAsset;
  let track: Record<string, unknown>;
  beforeAll(async () => {
    const { id: tokenId, secret: tokenSecret } = server.token;
    const mux = new Mux({ baseURL: server.url, tokenId, tokenSecret, maxRetries: 0 });
    await mux.video.transcriptionVocabularies.create({ name: 'Products', phrases: ['Kinora', 'HLS'] });
    const { id } = await mux.video.assets.create({
      inputs: [{ url: `${origin.url}/0`, generated_subtitles: [{ language_code: 'auto' }] }],
      playback_policies: ['public'],
    });
    asset = await recognized(server, id);
    track = textsOf(asset)[0]!;
  });

  test('has a track with the detected language', () => {
    expect(textsOf(asset)).toEqual([
      {
        id: expect.any(String),
        type: 'text',
        text_type: 'subtitles',
        text_source: 'generated_vod',
        status: 'ready',
        name: 'Auto-detected',
        language_code: 'fr',
        auto_language_confidence: 0.75,
        closed_captions: false,
      },
    ]);
  });

  test('tells of it in order', async () => {
    expect(await eventTypes(server, track.id as string)).toEqual(['track.created', 'track.ready']);
    const [created, ready] = await eventsOf(server, track.id as string);
    expect(created!.data).toMatchObject({ status: 'preparing', language_code: 'auto' });
    expect(ready!.data).toEqual({ ...track, asset_id: asset.id });
    // Uncompressed audio is a non-standard input.
    const types = ['created', 'non_standard_input_detected', 'ready', 'track.created', 'track.ready'];
    expect(await toldOfAsset(server, asset.id)).toEqual(types);
    const assetReady = (await eventsOf(server, asset.id)).find(({ type }) => type === 'video.asset.ready')!;
    expect(textsOf(assetReady.data as unknown as WireAsset)).toMatchObject([{ id: track.id, status: 'preparing' }]);
  });

  test('is recognized in one window without the silence, at the lowest priority, without the environment', () => {
    const [call, ...more] = calls();
    expect(more).toEqual([]);
    expect(call).toMatchObject({ language: 'auto', phrases: 'Kinora, HLS', priority: 19 });
    expect(call!.seconds).toBeGreaterThan(6);
    expect(call!.seconds).toBeLessThan(9);
    expect([...call!.env].sort()).toEqual(['HOME', 'LANG', 'PATH']);
  });

  test('plays its text where it is said', async () => {
    const playbackId = asset.playback_ids![0]!.id;
    const times = [...(await textOf(server, asset, track)).matchAll(/00:00:(\S+) --> 00:00:(\S+)\n(.+)/g)];
    expect(times.map(([, , , text]) => text)).toEqual(['trois mots dits', 'trois mots dits']);
    for (const [at, { startSeconds, endSeconds }] of SPOKEN.entries()) {
      expect(Math.abs(Number(times[at]![1]) - startSeconds)).toBeLessThan(0.25);
      expect(Math.abs(Number(times[at]![2]) - endSeconds)).toBeLessThan(0.25);
    }
    const master = await (await fetch(`${server.url}/${playbackId}.m3u8`)).text();
    expect(master).toMatch(/TYPE=SUBTITLES.*LANGUAGE="fr"/);
  });

  test('has a transcript', async () => {
    const url = `${server.url}/${asset.playback_ids![0]!.id}/text/${track.id}.txt`;
    const response = await fetch(url);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(await response.text()).toBe('trois mots dits\ntrois mots dits');
  });
});
