import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { trackTextKey } from '#kinora/storage/keys.js';
import { groupNice } from '../../support/group-nice.js';
import { makeSpeech } from '../../support/media/spoken-audio.mjs';
import type { Origin } from '../../support/servers/origin.js';
import {
  cleanUpServers,
  filesBelow,
  makeDataDir,
  processesNaming,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { api, createAsset, getAsset, serveFiles, settled } from '../../support/wire/create-asset.js';
import { eventTypes } from '../../support/wire/events.js';
import { recognized, textOf, textsOf } from '../../support/wire/recognized.js';

const RECOGNIZER = fileURLToPath(new URL('../../support/processes/recognizer.mjs', import.meta.url));
/** Four windows: each holds one of these, for two are longer than 30 seconds. */
const SPOKEN = [2, 25, 48, 71].map((second) => ({ startSeconds: second, endSeconds: second + 18 }));

let folder: string;
let origin: Origin;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kinora-speech-restart-'));
  const [long, short] = [join(folder, 'talk.wav'), join(folder, 'short.wav')];
  writeFileSync(long, makeSpeech(95, SPOKEN));
  writeFileSync(short, makeSpeech(45, SPOKEN.slice(0, 2)));
  origin = await serveFiles([long, short]);
});
afterAll(async () => {
  await cleanUpServers();
  await origin?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The program hangs where the file `hold` says so: at the call of that number. */
const start = (dataDir: string, log: string): Promise<ServerProcess> =>
  startServer({
    dataDir,
    options: { SPEECH_COMMAND: `${process.execPath} ${RECOGNIZER} ${log} held {audio} {language}` },
  });
/** The file exists a moment before its first line. */
const countCalls = (log: string): number => (existsSync(log) ? readFileSync(log, 'utf8').split('\n').length - 1 : 0);
const order = async (server: ServerProcess, file = 0): Promise<string> => {
  const inputs = [{ url: `${origin.url}/${file}`, generated_subtitles: [{ language_code: 'auto' }] }];
  return (await createAsset(server, { inputs, playback_policies: ['public'] })).id;
};
const speechFiles = (dataDir: string): string[] => filesBelow(dataDir).filter((path) => path.includes('/speech/'));

test('a server that is killed goes on where it was, and its program ends with it', async () => {
  const dataDir = makeDataDir();
  const log = join(folder, 'killed');
  writeFileSync(`${log}.hold`, '1');
  let server = await start(dataDir, log);
  const id = await order(server);
  await settled(server, id);
  // While speech is searched, or at the first window.
  await server.kill();
  await until('the program has ended', () => processesNaming(log).length === 0);
  const lost = countCalls(log);
  expect(lost).toBeLessThan(2);

  writeFileSync(`${log}.hold`, String(lost + 3));
  server = await start(dataDir, log);
  await until('the third window is begun', () => countCalls(log) === lost + 3);
  const { progress, ...track } = textsOf(await settled(server, id))[0]!;
  expect(progress).toBeGreaterThan(0);
  await until('the language is known', async () => textsOf(await getAsset(server, id))[0]!.language_code === 'fr');
  await server.kill();
  await until('the program has ended', () => processesNaming(log).length === 0);
  rmSync(`${log}.hold`);

  server = await start(dataDir, log);
  const hasText = () => filesBelow(dataDir).some((path) => path.endsWith(trackTextKey(id, track.id as string)));
  await until('the text is stored', hasText);
  // The track may be ready or not.
  await server.kill();

  server = await start(dataDir, log);
  const asset = await recognized(server, id);
  expect(textsOf(asset)).toEqual([{ ...track, status: 'ready', language_code: 'fr', auto_language_confidence: 0.75 }]);
  expect(await eventTypes(server, track.id as string)).toEqual(['track.created', 'track.ready']);
  const calls = readFileSync(log, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { language: string });
  expect(calls.map(({ language }) => language)).toEqual([...Array(lost).fill('auto'), 'auto', 'fr', 'fr', 'fr', 'fr']);
  const text = await textOf(server, asset, track);
  const starts = [...text.matchAll(/^00:(\d\d):(\S+) -->/gm)].map(
    ([, minutes, seconds]) => Number(minutes) * 60 + Number(seconds),
  );
  for (const { startSeconds } of SPOKEN)
    expect(starts.some((found) => Math.abs(found - startSeconds) < 0.3)).toBe(true);
  await until('nothing is left of the work', () => speechFiles(dataDir).length === 0);
  await server.stop();
});

test('a track that is deleted takes its program and its files along', async () => {
  const dataDir = makeDataDir();
  const log = join(folder, 'deleted');
  writeFileSync(`${log}.hold`, '2');
  const server = await start(dataDir, log);
  const id = await order(server, 1);
  await until('the second window is begun', () => countCalls(log) === 2);
  const { pid, priority } = JSON.parse(readFileSync(log, 'utf8').trim().split('\n')[1]!);
  expect(priority).toBe(19);
  await until('its group of scheduling yields too', () => [10, undefined].includes(groupNice(pid)));
  const track = textsOf(await settled(server, id))[0]!;
  expect(speechFiles(dataDir).length).toBeGreaterThan(0);
  expect((await api(server, 'DELETE', `/video/v1/assets/${id}/tracks/${track.id}`)).status).toBe(204);
  await until('the program has ended', () => processesNaming(log).every(({ pid }) => pid === server.process.pid));
  await until('the files are gone', () => filesBelow(dataDir).every((path) => !path.includes(track.id as string)));
  expect(await eventTypes(server, track.id as string)).toEqual(['track.created', 'track.deleted']);

  // The next one is worked on at once, and goes with its asset.
  writeFileSync(`${log}.hold`, '3');
  const next = await order(server, 1);
  await until('the next is begun', () => countCalls(log) === 3);
  await settled(server, next);
  expect((await api(server, 'DELETE', `/video/v1/assets/${next}`)).status).toBe(204);
  await until('the program has ended', () => processesNaming(log).every(({ pid }) => pid === server.process.pid));
  await until('the files are gone', () => filesBelow(dataDir).every((path) => !path.includes(next)));
  expect(await server.stop()).toBe(0);
});
