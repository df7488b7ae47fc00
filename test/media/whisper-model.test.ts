import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Booted, boot } from '../support/servers/boot.js';
import type { Origin } from '../support/servers/origin.js';
import { serveFiles } from '../support/wire/create-asset.js';
import { createRecognized, errorOf, textOf, textsOf } from '../support/wire/recognized.js';

const model = process.env.KINORA_TEST_WHISPER_MODEL;
/** Recordings of other languages: `<code>.<anything>`, with what is said in `<code>.txt`. */
const recordings = process.env.KINORA_TEST_WHISPER_RECORDINGS;

const TEXT = 'The morning train leaves the station at seven. We walked along the river and talked about the weather.';
const hasVoices = existsSync('/usr/bin/ffmpeg');

describe.runIf(model !== undefined && hasVoices)('a real model', { timeout: 3_600_000 }, () => {
  let folder: string;
  let origin: Origin;
  let server: Booted;
  const make = (name: string, ...args: string[]): string => {
    const path = join(folder, name);
    execFileSync('/usr/bin/ffmpeg', ['-v', 'error', '-y', ...args, '-ar', '16000', '-ac', '1', path]);
    return path;
  };
  const lavfi = (source: string): string[] => ['-f', 'lavfi', '-i', source];
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'kinora-whisper-'));
    const talk = make('talk.wav', ...lavfi(`flite=text='${TEXT}':voice=slt`));
    const long = make('long.wav', '-stream_loop', '24', '-i', talk, '-af', 'apad=pad_dur=30', '-t', '600');
    const chord = '0.2*sin(2*PI*220*t)+0.2*sin(2*PI*277*t)+0.2*sin(2*PI*330*t)*(1+sin(2*PI*2*t))/2';
    const files = [
      talk,
      long,
      make('silence.wav', ...lavfi('anullsrc=r=16000:cl=mono'), '-t', '30'),
      make('noise.wav', ...lavfi('anoisesrc=r=16000:a=0.3'), '-t', '30'),
      make('music.wav', ...lavfi(`aevalsrc='${chord}':s=16000`), '-t', '30'),
    ];
    origin = await serveFiles(files);
    server = await boot({ options: { SPEECH_MODEL: model! } });
  });
  afterAll(async () => {
    await server?.stop();
    await origin?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('recognizes a known text and its language', async () => {
    const asset = await createRecognized(server, `${origin.url}/0`, [{ language_code: 'auto' }]);
    const [track] = textsOf(asset);
    expect(track).toMatchObject({ status: 'ready', language_code: 'en' });
    const text = (await textOf(server, asset, track!, 'txt')).toLowerCase();
    for (const word of ['train', 'station', 'river', 'weather']) expect(text).toContain(word);
  });

  test.each([
    ['silence', 2],
    ['noise', 3],
    ['music', 4],
  ])('makes no text of %s', async (_, file) => {
    const asset = await createRecognized(server, `${origin.url}/${file}`, [{}]);
    expect(await errorOf(server, asset)).toMatchObject({ messages: ['No speech was detected.'] });
  });

  test('recognizes ten minutes in the time that it prints', async () => {
    const startedMs = performance.now();
    const asset = await createRecognized(server, `${origin.url}/1`, [{ language_code: 'en' }]);
    const factor = (performance.now() - startedMs) / 600_000;
    console.info(`ten minutes took ${factor.toFixed(2)} of their length`);
    expect(textsOf(asset)[0]).toMatchObject({ status: 'ready' });
  });

  test.runIf(recordings !== undefined)('detects the language of recordings', async () => {
    const { readdirSync } = await import('node:fs');
    const files = readdirSync(recordings!).filter((name) => !name.endsWith('.txt'));
    const served = await serveFiles(files.map((name) => join(recordings!, name)));
    try {
      for (const [at, name] of files.entries()) {
        const asset = await createRecognized(server, `${served.url}/${at}`, [{ language_code: 'auto' }]);
        expect([name, textsOf(asset)[0]!.language_code]).toEqual([name, name.split('.')[0]]);
      }
    } finally {
      await served.stop();
    }
  });
});
