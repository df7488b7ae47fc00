import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cancelled } from '../lib/abort.js';
import type { KinoraError } from '../lib/errors.js';
import { findTool } from '../lib/find-tool.js';
import { lowerPriority } from '../lib/lower-priority.js';
import { makeDirectory } from '../lib/make-directory.js';
import { parseTranscript } from '../media/speech/parse-transcript.js';
import type { Transcript } from '../media/speech/word.js';
import {
  joinPhrases,
  speechFailure,
  type TranscribeOptions,
  type Transcriber,
  type WindowAudio,
} from './transcriber.js';

export interface CommandOptions {
  /**
   * The program and its arguments; `{audio}`, `{language}`, `{phrases}` and `{output}` are
   * replaced.
   */
  readonly command: readonly string[];
  readonly timeoutMs: number;
  /** No other code writes there. */
  readonly directory: string;
}

const MAX_OUTPUT_BYTES = 4 * 2 ** 20;
const KEPT_STDERR_CHARACTERS = 2000;
/** Programs append such extensions to the name of the output file. */
const OUTPUT_ENDINGS = ['', '.json', '.vtt', '.srt'];
/** None of the server's environment is passed on, because it contains secrets. */
const ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8' };
const NOT_STARTED = 'The speech recognition program could not be started.';

/** Whether a program exists and is executable; names are resolved as in a shell command. */
export const isProgram = (name: string): boolean => {
  const paths = name.includes('/') ? [name] : ENVIRONMENT.PATH.split(':').map((directory) => join(directory, name));
  return paths.some((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      // It may be in the next directory.
      return false;
    }
  });
};

/** Recognition by a program of the operator's choice, started once per window. */
export const createCommandTranscriber = (options: CommandOptions): Transcriber => ({
  check: async () => {
    const [program = ''] = options.command;
    if (!isProgram(program)) throw speechFailure(NOT_STARTED, 'fail', { program, reason: 'not there or no program' });
  },
  transcribe: async (window, { language, phrases, signal }) => {
    await makeDirectory(options.directory, 0o700);
    const directory = await mkdtemp(join(options.directory, 'window-'));
    try {
      const paths = { audio: join(directory, 'audio.wav'), output: join(directory, 'output') };
      await writeFile(paths.audio, window.bytes);
      const values: Readonly<Record<string, string>> = { ...paths, language, phrases: joinPhrases(phrases) };
      const words = options.command.map((word) =>
        word.replace(/\{(audio|output|language|phrases)\}/g, (_, name: string) => values[name]!),
      );
      const printed = await runProgram(words, { cwd: directory, timeoutMs: options.timeoutMs, signal });
      return parse((await readOutput(paths.output)) ?? printed, window);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  },
});

const parse = (text: string, { lengthMs }: WindowAudio): Transcript => {
  const transcript = text.trim() === '' ? { words: [] } : parseTranscript(text, lengthMs);
  if (transcript) return transcript;
  const details = { output: text.slice(0, KEPT_STDERR_CHARACTERS) };
  throw speechFailure('The speech recognition program wrote neither SRT nor WebVTT nor JSON.', 'fail', details);
};

const readOutput = async (path: string): Promise<string | undefined> => {
  for (const ending of OUTPUT_ENDINGS) {
    const file = await open(path + ending).catch(() => undefined);
    if (!file) continue;
    try {
      const { size } = await file.stat();
      if (size > MAX_OUTPUT_BYTES) throw tooMuch();
      return await file.readFile('utf8');
    } finally {
      await file.close();
    }
  }
  return undefined;
};

const tooMuch = (): KinoraError => speechFailure('The speech recognition program wrote too much.', 'fail');

interface RunOptions extends Pick<TranscribeOptions, 'signal'> {
  readonly cwd: string;
  readonly timeoutMs: number;
}

/**
 * Returns the program's output. If the system allows it, the program ends together with the server.
 */
const runProgram = (words: readonly string[], { cwd, timeoutMs, signal }: RunOptions): Promise<string> =>
  new Promise((resolve, reject) => {
    if (signal.aborted) return reject(cancelled(signal));
    const setpriv = findTool('setpriv');
    const [file = '', ...args] = [...(setpriv ? [setpriv, '--pdeathsig', 'KILL'] : []), ...words];
    const child = spawn(file, args, {
      cwd,
      env: { ...ENVIRONMENT, HOME: cwd },
      // Its own process group, so that one signal ends the program and its children.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (child.pid !== undefined) void lowerPriority(child.pid);
    const printed: Buffer[] = [];
    let printedBytes = 0;
    let complaints = '';
    let failure: KinoraError | undefined;
    const end = (error: KinoraError): void => {
      failure ??= error;
      killGroup(child);
      // A process that has left the group may keep the pipes open.
      child.stdout?.destroy();
      child.stderr?.destroy();
    };
    const onAbort = (): void => end(cancelled(signal));
    signal.addEventListener('abort', onAbort, { once: true });
    const limit = setTimeout(() => {
      end(speechFailure('The speech recognition program did not end in time.', 'defect', { timeout_ms: timeoutMs }));
    }, timeoutMs);
    child.stdout?.on('data', (chunk: Buffer) => {
      printedBytes += chunk.length;
      if (printedBytes > MAX_OUTPUT_BYTES) end(tooMuch());
      else printed.push(chunk);
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      complaints = (complaints + chunk.toString()).slice(-KEPT_STDERR_CHARACTERS);
    });
    const settle = (status: number | null, name: string | null, cause?: Error): void => {
      clearTimeout(limit);
      signal.removeEventListener('abort', onAbort);
      const notFound = cause !== undefined || (setpriv !== undefined && (status === 126 || status === 127));
      const details = { program: words[0], status, signal: name, stderr: complaints };
      if (failure) {
        reject(failure);
      } else if (notFound) {
        reject(speechFailure(NOT_STARTED, 'fail', details, cause));
      } else if (status === 0) {
        resolve(Buffer.concat(printed).toString('utf8'));
      } else {
        const how = name === null ? `with status ${status}` : `by signal ${name}`;
        reject(speechFailure(`The speech recognition program ended ${how}.`, 'defect', details));
      }
    };
    child.once('error', (error) => settle(null, null, error));
    child.once('close', (status, name) => {
      // Ends the processes that the program left running.
      killGroup(child);
      settle(status, name);
    });
  });

const killGroup = ({ pid }: ChildProcess): void => {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has no processes left.
  }
};
