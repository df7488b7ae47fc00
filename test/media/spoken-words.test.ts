import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Word } from '#kinora/media/speech/word.js';
import { waveFile } from '../support/media/spoken-audio.mjs';
import { type Booted, boot } from '../support/servers/boot.js';
import type { Origin } from '../support/servers/origin.js';
import { filesBelow } from '../support/servers/server-process.js';
import { serveFiles } from '../support/wire/create-asset.js';
import { createRecognized, textOf, textsOf } from '../support/wire/recognized.js';

const RATE = 16_000;
const SCRIPT = fileURLToPath(new URL('../support/processes/pocketsphinx.mjs', import.meta.url));
/** Voices of Debian's ffmpeg, each with its sentence and the silence before it. */
const SPOKEN = [
  { voice: 'slt', silence: 3, text: 'The morning train leaves the station at seven.' },
  { voice: 'rms', silence: 20, text: 'We walked along the river and talked about the weather.' },
  { voice: 'awb', silence: 8, text: 'Nobody wanted to wait for the next bus in the rain.' },
] as const;

const canSpeak = (): boolean =>
  existsSync('/usr/bin/pocketsphinx_continuous') &&
  existsSync('/usr/share/pocketsphinx/model/en-us/en-us') &&
  existsSync('/usr/bin/ffmpeg') &&
  execFileSync('/usr/bin/ffmpeg', ['-hide_banner', '-filters'], { encoding: 'utf8' }).includes(' flite ');
const isThere = canSpeak();
if (!isThere) {
  console.error('SKIPPED: recognition of real speech, because ffmpeg with flite or pocketsphinx is missing.');
}

const speak = (folder: string, index: number): Buffer => {
  const { voice, text } = SPOKEN[index]!;
  const path = join(folder, `sentence-${index}.wav`);
  const input = `flite=text='${text}':voice=${voice}`;
  const args = ['-v', 'error', '-y', '-f', 'lavfi', '-i', input, '-ar', String(RATE), '-ac', '1', '-f', 's16le'];
  const samples = execFileSync('/usr/bin/ffmpeg', [...args, '-'], { maxBuffer: 2 ** 26 });
  writeFileSync(path, waveFile(samples));
  return samples;
};
const plain = (text: string): string[] =>
  text
    .toLowerCase()
    .replace(/[^a-z' ]/g, '')
    .split(/\s+/);

/** Words that were put in, left out or replaced. */
const countErrors = (said: readonly string[], heard: readonly string[]): number => {
  let row = heard.map((_, at) => at + 1);
  row.unshift(0);
  for (const [i, word] of said.entries()) {
    const next = [i + 1];
    for (const [j, other] of heard.entries())
      next.push(Math.min(row[j + 1]! + 1, next[j]! + 1, row[j]! + (word === other ? 0 : 1)));
    row = next;
  }
  return row.at(-1)!;
};

describe.runIf(isThere)('English voices, recognized by pocketsphinx', () => {
  let folder: string;
  let origin: Origin;
  let server: Booted;
  let words: Word[];
  let text: string;
  /** Where each word is when its sentence alone is recognized. */
  const expected: { word: string; ms: number }[] = [];
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'kinora-spoken-'));
    const parts: Buffer[] = [];
    let seconds = 0;
    for (const [index, { silence }] of SPOKEN.entries()) {
      const samples = speak(folder, index);
      parts.push(Buffer.alloc(silence * RATE * 2), samples);
      seconds += silence;
      const printed = execFileSync(process.execPath, [SCRIPT, join(folder, `sentence-${index}.wav`)], {
        encoding: 'utf8',
      });
      const alone = JSON.parse(printed) as { words: { word: string; start: number }[] };
      expected.push(...alone.words.map(({ word, start }) => ({ word, ms: Math.round((seconds + start) * 1000) })));
      seconds += samples.length / 2 / RATE;
    }
    parts.push(Buffer.alloc(5 * RATE * 2));
    writeFileSync(join(folder, 'talk.wav'), waveFile(Buffer.concat(parts)));
    origin = await serveFiles([join(folder, 'talk.wav')]);
    server = await boot({ options: { SPEECH_COMMAND: `${process.execPath} ${SCRIPT} {audio}` } });
    const asset = await createRecognized(server, `${origin.url}/0`, [{ language_code: 'en' }]);
    const [track] = textsOf(asset);
    expect(track).toMatchObject({ status: 'ready' });
    const [file] = filesBelow(server.dataDir).filter((path) => path.endsWith('words.json'));
    words = JSON.parse(readFileSync(join(server.dataDir, file!), 'utf8')) as Word[];
    text = await textOf(server, asset, track!, 'txt');
  });
  afterAll(async () => {
    await server?.stop();
    await origin?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('at most a quarter of the words is wrong', () => {
    const said = plain(SPOKEN.map((sentence) => sentence.text).join(' '));
    const errors = countErrors(said, plain(text));
    console.info(`${errors} of ${said.length} words are wrong`);
    expect(errors / said.length).toBeLessThanOrEqual(0.25);
  });

  test('words are where they were said, after long silence too', () => {
    const off = expected.flatMap(({ word, ms }) => {
      const distances = words.filter((found) => found.text === word).map(({ startMs }) => Math.abs(startMs - ms));
      return distances.length > 0 ? [Math.min(...distances)] : [];
    });
    console.info(`${off.length} of ${expected.length} words found, at most ${Math.max(...off)} ms off`);
    expect(off.length / expected.length).toBeGreaterThanOrEqual(0.75);
    expect(Math.max(...off)).toBeLessThanOrEqual(200);
  });
});
