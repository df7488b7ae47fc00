import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hurriedClock } from '../../support/hurried-clock.js';
import { makeSpeech } from '../../support/media/spoken-audio.mjs';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { type SpeechResponse, startSpeechService } from '../../support/servers/speech-service.js';
import { serveFiles, type WireAsset } from '../../support/wire/create-asset.js';
import { eventsOf, eventTypes } from '../../support/wire/events.js';
import { createRecognized, textsOf } from '../../support/wire/recognized.js';

const RECOGNIZER = fileURLToPath(new URL('../../support/processes/recognizer.mjs', import.meta.url));

let folder: string;
let origin: Origin;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kinora-speech-failures-'));
  const talk = join(folder, 'talk.wav');
  writeFileSync(talk, makeSpeech(10, [{ startSeconds: 2, endSeconds: 5 }]));
  origin = await serveFiles([talk]);
});
afterAll(async () => {
  await origin?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/**
 * How each track of an asset has ended, by its language: `ready`, or the reason that its last event
 * gives.
 */
const recognizeEach = async (options: Record<string, string>, languages: readonly string[]): Promise<object> => {
  const server: Booted = await boot({ options, clock: hurriedClock() });
  try {
    const subtitles = languages.map((language_code) => ({ language_code }));
    const asset: WireAsset = await createRecognized(server, `${origin.url}/0`, subtitles);
    expect(asset.status).toBe('ready');
    const ended = textsOf(asset).map(async ({ id, language_code: language, status }) => {
      expect(await eventTypes(server, id as string)).toEqual(['track.created', `track.${status}`]);
      const { error } = (await eventsOf(server, id as string)).at(-1)!.data as { error?: object };
      return [language, error ?? status] as const;
    });
    return Object.fromEntries(await Promise.all(ended));
  } finally {
    await server.stop();
  }
};
const failed = (message: string) => ({ type: 'internal_error', messages: [message] });

test('each failure of a program ends its track with a reason, and no other', async () => {
  const log = join(folder, 'calls');
  const manners = { en: 'json', de: 'killed', fr: 'nonsense' };
  writeFileSync(`${log}.manners`, JSON.stringify(manners));
  const command = `"${process.execPath}" ${RECOGNIZER} ${log} told {audio} {language}`;
  const ended = await recognizeEach({ SPEECH_COMMAND: command }, Object.keys(manners));
  expect(ended).toEqual({
    en: 'ready',
    de: failed('The speech recognition program ended by signal SIGKILL.'),
    fr: failed('The speech recognition program wrote neither SRT nor WebVTT nor JSON.'),
  });
});

test('a program that is not there ends the track at once', async () => {
  expect(await recognizeEach({ SPEECH_COMMAND: '/nowhere/whisper {audio}' }, ['en'])).toEqual({
    en: failed('The speech recognition program could not be started.'),
  });
});

test('each failure of a service ends its track with a reason, and no other', async () => {
  let refusals = 3;
  const heard = { status: 200, body: { words: [{ word: 'three', start: 1, end: 2 }] } };
  const responses: Record<string, () => SpeechResponse> = {
    en: () => heard,
    de: () => ({ status: 401, body: 'wrong key' }),
    fr: () => ({ status: 200, body: '<html>' }),
    // Busy for longer than one try of the job.
    es: () => (refusals-- > 0 ? { status: 429, body: '' } : heard),
  };
  const service = await startSpeechService(({ fields }) => responses[fields.language!]!());
  try {
    expect(await recognizeEach({ SPEECH_URL: `${service.url}/v1` }, Object.keys(responses))).toEqual({
      en: 'ready',
      de: failed('The speech recognition service answered with HTTP status 401.'),
      fr: failed('The speech recognition service gave an answer that cannot be read.'),
      es: 'ready',
    });
    expect(refusals).toBe(-1);
  } finally {
    await service.stop();
  }
});
