import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createCommandTranscriber } from '#kinora/speech/command-transcriber.js';
import { ServiceTranscriber } from '#kinora/speech/service-transcriber.js';
import { makeSpeech } from '../../support/media/spoken-audio.mjs';
import { until } from '../../support/servers/server-process.js';
import { startSpeechService } from '../../support/servers/speech-service.js';

const RECOGNIZER = fileURLToPath(new URL('../../support/processes/recognizer.mjs', import.meta.url));
const window = {
  bytes: makeSpeech(6, [{ startSeconds: 1, endSeconds: 4 }]),
  path: '/nowhere',
  lengthMs: 6000,
};
const options = (language = 'en', signal = new AbortController().signal) => ({
  language,
  phrases: ['Kinora', 'HLS', 'Kinora'],
  signal,
});
const heard = expect.objectContaining({ text: 'three', startMs: 1000 });

describe('a program', () => {
  let directory: string;
  let log: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'kinora-command-test-'));
    log = join(directory, 'calls');
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  const program = (manner: string, timeoutMs = 60_000) =>
    createCommandTranscriber({
      command: [process.execPath, RECOGNIZER, log, manner, '{audio}', '{language}', '{phrases}', '{output}'],
      timeoutMs,
      directory: join(directory, 'windows'),
    });

  test.each(['srt', 'vtt', 'output'])('may write %s', async (manner) => {
    const { words } = await program(manner).transcribe(window, options());
    expect(words).toHaveLength(3);
    expect(words[0]).toEqual(heard);
  });

  test('may write nothing, and may name the language', async () => {
    expect(await program('silent').transcribe(window, options())).toEqual({ words: [] });
    expect(await program('json').transcribe(window, options('auto'))).toMatchObject({
      language: 'fr',
      confidence: 0.75,
    });
    const [call] = readFileSync(log, 'utf8').trim().split('\n').slice(-1);
    expect(JSON.parse(call!)).toMatchObject({ language: 'auto', phrases: 'Kinora, HLS' });
  });

  test.each([
    ['fail', 'The speech recognition program ended with status 3.', 'defect'],
    ['nonsense', 'The speech recognition program wrote neither SRT nor WebVTT nor JSON.', 'fail'],
    ['flood', 'The speech recognition program wrote too much.', 'fail'],
  ])('that does wrong (%s) is told apart', async (manner, message, failure) => {
    const error = await program(manner)
      .transcribe(window, options())
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'speech_failed', messages: [message], failure });
  });

  test('that hangs is ended, with everything that it has started', async () => {
    const message = 'The speech recognition program did not end in time.';
    const hanging = createCommandTranscriber({
      command: ['/bin/sh', '-c', `sleep 987654 & echo $! >> ${log}.pids; wait`, '{audio}'],
      // Long enough for the shell to start its program.
      timeoutMs: 5000,
      directory: join(directory, 'windows'),
    });
    await expect(hanging.transcribe(window, options())).rejects.toMatchObject({
      messages: [message],
      failure: 'defect',
    });
    const pid = Number(readFileSync(`${log}.pids`, 'utf8'));
    await until('the grandchild has ended', () => {
      try {
        return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
      } catch {
        return true;
      }
    });
  });

  test('that is not there, or that is no longer wanted, is told apart', async () => {
    const absent = createCommandTranscriber({ command: ['/nowhere/whisper', '{audio}'], timeoutMs: 5000, directory });
    const message = 'The speech recognition program could not be started.';
    await expect(absent.transcribe(window, options())).rejects.toMatchObject({ messages: [message], failure: 'fail' });
    const abort = new AbortController();
    const running = program('hang').transcribe(window, options('en', abort.signal));
    abort.abort();
    await expect(running).rejects.toMatchObject({ code: 'cancelled' });
  });
});

describe('a service', () => {
  const withService = async (
    responses: Parameters<typeof startSpeechService>[0],
    use: (service: Awaited<ReturnType<typeof startSpeechService>>) => Promise<void>,
  ) => {
    const service = await startSpeechService(responses);
    try {
      await use(service);
    } finally {
      await service.stop();
    }
  };
  const client = (url: string, more: object = {}) =>
    new ServiceTranscriber({ url: `${url}/v1`, model: 'large', timeoutMs: 20_000, retryDelayMs: 5, ...more });
  const words = [{ word: ' three', start: 1, end: 2 }];
  const atTop = { status: 200, body: { language: 'french', text: 'three', words } };
  const inside = {
    status: 200,
    body: { language: 'french', text: 'three', segments: [{ start: 0, end: 3, text: ' three', words }] },
  };

  test.each([
    ['at top level', atTop],
    ['inside segments', inside],
  ])('may put words %s', (_, response) =>
    withService([response], async ({ url, requests }) => {
      expect(await client(url, { key: 'sk-1' }).transcribe(window, options())).toEqual({
        language: 'fr',
        words: [{ startMs: 1000, endMs: 2000, text: 'three' }],
      });
      expect(requests).toHaveLength(1);
      const [{ path, authorization, fields, file }] = requests as [(typeof requests)[0]];
      expect([path, authorization]).toEqual(['/v1/audio/transcriptions', 'Bearer sk-1']);
      expect(fields).toEqual({
        model: 'large',
        response_format: 'verbose_json',
        'timestamp_granularities[]': 'segment',
        temperature: '0',
        language: 'en',
        prompt: 'Kinora, HLS',
      });
      expect(file).toBe(window.bytes.length);
    }),
  );

  test('that refuses the language auto is asked without it from then on', () =>
    withService([{ status: 400, body: 'invalid language' }, atTop, atTop], async ({ url, requests }) => {
      const asked = client(url);
      await asked.transcribe(window, options('auto'));
      await asked.transcribe(window, options('auto'));
      expect(requests.map(({ fields }) => fields.language)).toEqual(['auto', undefined, undefined]);
    }));

  test('that is busy for a moment is asked again', () =>
    withService([{ status: 429, body: '' }, { status: 503, body: 'loading' }, atTop], async ({ url, requests }) => {
      expect((await client(url).transcribe(window, options())).words).toHaveLength(1);
      expect(requests).toHaveLength(3);
    }));

  test.each([
    [500, 3, 'defect'],
    [429, 3, 'retry'],
    [401, 1, 'fail'],
    [400, 1, 'fail'],
  ])('that goes on to answer with status %i gives a reason', (status, tries, failure) =>
    withService([{ status, body: 'failed to decode audio' }], async ({ url, requests }) => {
      const message = `The speech recognition service answered with HTTP status ${status}.`;
      await expect(client(url).transcribe(window, options())).rejects.toMatchObject({
        code: 'speech_failed',
        messages: [message],
        failure,
      });
      expect(requests).toHaveLength(tries);
    }),
  );

  test('that answers nonsense, too late or not at all gives a reason', async () => {
    await withService([{ status: 200, body: '<html>' }], async ({ url }) => {
      const message = 'The speech recognition service gave an answer that cannot be read.';
      await expect(client(url).transcribe(window, options())).rejects.toMatchObject({ messages: [message] });
    });
    await withService([{ status: 200, body: 'x'.repeat(5 * 2 ** 20) }], async ({ url }) => {
      const message = 'The speech recognition service could not be reached.';
      await expect(client(url).transcribe(window, options())).rejects.toMatchObject({ messages: [message] });
    });
    await withService(['silence'], async ({ url }) => {
      const late = client(url, { timeoutMs: 300 });
      const message = 'The speech recognition service did not answer in time.';
      await expect(late.transcribe(window, options())).rejects.toMatchObject({
        messages: [message],
        failure: 'defect',
      });
    });
    let gone = '';
    await withService([atTop], async ({ url }) => {
      gone = url;
    });
    const message = 'The speech recognition service could not be reached.';
    await expect(client(gone).transcribe(window, options())).rejects.toMatchObject({
      messages: [message],
      failure: 'retry',
    });
  });

  test('is left alone when its answer is no longer wanted', () =>
    withService(['silence'], async ({ url, requests }) => {
      const abort = new AbortController();
      const running = client(url).transcribe(window, options('en', abort.signal));
      const ended = expect(running).rejects.toMatchObject({ code: 'cancelled' });
      await until('the service was asked', () => requests.length === 1);
      abort.abort();
      await ended;
    }));
});
