import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeSpeech } from '../../support/media/spoken-audio.mjs';
import { writeWhisperModel } from '../../support/media/whisper-model.mjs';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { serveFiles } from '../../support/wire/create-asset.js';
import { createRecognized, errorOf, textOf, textsOf } from '../../support/wire/recognized.js';

/** A directory whose name a filter graph could take for something else. */
const ODD = "it's: a [model], really;";

let folder: string;
let origin: Origin;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kinora-whisper-test-'));
  const talk = join(folder, 'talk.wav');
  writeFileSync(talk, makeSpeech(12, [{ startSeconds: 2, endSeconds: 6 }]));
  const silence = join(folder, 'silence.wav');
  writeFileSync(silence, makeSpeech(5, []));
  origin = await serveFiles([talk, silence]);
});
afterAll(async () => {
  await origin?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const withServer = async (model: string, use: (server: Booted) => Promise<void>): Promise<void> => {
  const server = await boot({ options: { SPEECH_MODEL: model } });
  try {
    await use(server);
  } finally {
    await server.stop();
  }
};

test("words, times, language and its probability come out of FFmpeg's filter", async () => {
  mkdirSync(join(folder, ODD));
  const model = join(folder, ODD, 'plumbing.bin');
  writeWhisperModel(model, { words: [' Le', ' "mod', 'èle"', ',', ' ça', ' va', '.'], language: 'fr', seconds: 3 });
  await withServer(model, async (server) => {
    const asset = await createRecognized(server, `${origin.url}/0`, [
      { language_code: 'auto' },
      { language_code: 'de' },
    ]);
    const [detected, asked] = textsOf(asset);
    expect(detected).toMatchObject({ status: 'ready', language_code: 'fr', auto_language_confidence: 1 });
    expect(asked).toMatchObject({ status: 'ready', language_code: 'de' });
    expect(asked).not.toHaveProperty('auto_language_confidence');
    const text = await textOf(server, asset, detected!);
    expect(text).toMatch(/^WEBVTT\n\n00:00:0(1\.[89]|2\.[0-2])\d\d --> 00:00:0[45]\.\d{3}\nLe "modèle", ça va\.\n$/);
  });
});

test('without speech nothing is recognized, whatever the model says', async () => {
  const model = join(folder, 'talkative.bin');
  writeWhisperModel(model);
  await withServer(model, async (server) => {
    const asset = await createRecognized(server, `${origin.url}/1`, [{}]);
    expect(await errorOf(server, asset)).toEqual({ type: 'invalid_input', messages: ['No speech was detected.'] });
  });
});

test('a model that is damaged, missing or knows another language only ends the track with a reason', async () => {
  const unreadable = { type: 'internal_error', messages: ['The speech model cannot be read.'] };
  const model = join(folder, 'useless.bin');
  await withServer(model, async (server) => {
    const expectError = async (language: string, error: object) => {
      const asset = await createRecognized(server, `${origin.url}/0`, [{ language_code: language }]);
      expect(await errorOf(server, asset)).toEqual(error);
    };

    await expectError('en', unreadable);

    writeFileSync(model, Buffer.alloc(5000, 7));
    await expectError('en', unreadable);

    writeWhisperModel(model);
    truncateSync(model, 4_000_000);
    await expectError('en', unreadable);

    const bytes = readFileSync(model);
    bytes.writeInt32LE(51_864, 4);
    writeFileSync(model, bytes);
    await expectError('fr', { type: 'internal_error', messages: ['The speech model knows English only.'] });
  });
});
