import { readFileSync } from 'node:fs';
import { readEnvironment } from '../../config/environment.js';
import { readSourceToken } from '../../config/source-token.js';
import { terminalLine } from '../../lib/terminal-text.js';
import { openImport } from '../import/open-import.js';
import { jsonOf, lineOf, summaryOf } from '../import/report.js';
import type { ImportOptions } from '../import/run-import.js';
import { createServerCalls } from '../import/server-calls.js';
import { type Command, type Flags, json, textOf, usageError, wholeNumberOf } from '../support/command.js';
import { print, printError, printJson, printTable } from '../support/print.js';

const files = ['master', 'static-renditions'] as const;

const mux: Command = {
  summary: 'move assets from Mux, or from another server with its API',
  args: [],
  flags: {
    '--source-url <url>': 'API of the source; https://api.mux.com if absent',
    '--stream-url <url>': 'streams of the source; https://stream.mux.com for Mux, otherwise the URL of its API',
    '--environment <id>': 'environment here that gets the assets; the first one if absent',
    '--dry-run': 'say what would be moved, and change nothing',
    '--assets <ids>': 'only these assets, separated by commas',
    '--created-after <date>': 'only assets that were created on this date or later, such as 2026-01-31',
    '--limit <number>': 'at most this many assets',
    '--concurrency <number>': 'assets that are moved at the same time; 4 if absent',
    '--rate <number>': 'the most requests per second to the API of the source; 5 if absent',
    '--from <file>': { doc: 'the file to prefer; master if absent', choices: files },
    '--drm-configuration <id>': 'configuration here for playback IDs with the policy drm',
    ...json,
  },
  settings: ['dataDir'],
  examples: [
    'kinora import mux --dry-run',
    'kinora import mux --created-after 2026-01-31 --concurrency 8 --json',
    'kinora import mux --source-url https://video.example.com --rate 20',
  ],
  run: async ({ config, flags }) => {
    const options = readFlags(flags);
    const token = readSourceToken(readEnvironment());
    const { signal, stopping } = stopOnSignals();
    const say = (text: string): void => printError(terminalLine(text));
    const opened = await openImport({ ...options, ...token, dataDir: config.dataDir, signal, onWait: say });
    const { api, sourceUrl, environmentName } = opened;
    say(`${options.isDryRun ? 'Looking at' : 'Importing from'} ${sourceUrl} for the environment ${environmentName}.`);
    const { runImport } = await import('../import/run-import.js');
    const onMoved: ImportOptions['onMoved'] = (moved) => say(lineOf(moved));
    const report = await runImport({ ...options, ...opened, signal, stopping, onMoved });
    if (flags['--json']) printJson(jsonOf(report, api.requests));
    else {
      printTable(summaryOf(report, api.requests));
      for (const remark of report.remarks) print(remark);
    }
    if (report.isStopped) say('Stopped before the end. Run the same command to continue.');
    return report.isStopped || report.assets.some(({ outcome }) => outcome === 'failed') ? 1 : 0;
  },
};

const MAX_CONCURRENCY = 32;

const readFlags = (flags: Flags) => {
  const sourceUrl = readUrl(flags, '--source-url');
  const streamUrl = readUrl(flags, '--stream-url');
  const environmentId = textOf(flags, '--environment');
  const assets = textOf(flags, '--assets');
  const createdAfter = textOf(flags, '--created-after');
  const createdAfterMs = createdAfter === undefined ? undefined : Date.parse(createdAfter);
  if (Number.isNaN(createdAfterMs)) throw usageError(`--created-after must be a date such as 2026-01-31.`);
  const limit = wholeNumberOf(flags, '--limit', 1, 1_000_000_000);
  const drmConfigurationId = textOf(flags, '--drm-configuration');
  return {
    sourceUrl,
    streamUrl,
    environmentId,
    assetIds: assets?.split(',').filter((id) => id !== ''),
    createdAfterSeconds: createdAfterMs === undefined ? undefined : createdAfterMs / 1000,
    limit,
    drmConfigurationId,
    concurrency: wholeNumberOf(flags, '--concurrency', 1, MAX_CONCURRENCY) ?? 4,
    ratePerSecond: wholeNumberOf(flags, '--rate', 1, 1000) ?? 5,
    prefer: files.find((file) => file === textOf(flags, '--from')) ?? 'master',
    isDryRun: flags['--dry-run'] === true,
  };
};

/**
 * @throws KinoraError `config_invalid`; the value isn't repeated, because it may contain a password
 */
const readUrl = (flags: Flags, name: string): string | undefined => {
  const text = textOf(flags, name);
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash;
  if (!isPlain) throw usageError(`${name} must be an HTTP or HTTPS URL without credentials, query and fragment.`);
  return text;
};

/** The first signal lets the assets in progress finish, the second one ends everything. */
const stopOnSignals = (): { readonly signal: AbortSignal; readonly stopping: AbortSignal } => {
  const end = new AbortController();
  const stop = new AbortController();
  const onSignal = (): void => {
    if (stop.signal.aborted) end.abort();
    else printError('Stopping after the assets in progress. Press Ctrl+C again to stop now.');
    stop.abort();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return { signal: end.signal, stopping: stop.signal };
};

const signingKey: Command = {
  summary: 'accept tokens that a signing key of another server has signed',
  args: ['<id>', '<file>'],
  flags: { '--environment <id>': 'environment of the assets; the first one if absent' },
  settings: ['dataDir'],
  examples: ['kinora import signing-key JjPXgklqKMZA77Dx9MiQpgWs701cE00LfQ private-key.pem'],
  run: async ({ args, flags, config }) => {
    const [id, file] = args as [string, string];
    const { readPublicKey } = await import('../../domain/import/import-access.js');
    // The server gets the public half only.
    const keyText = readPublicKey(readKeyFile(file));
    const { signal } = new AbortController();
    const server = createServerCalls({ dataDir: config.dataDir, signal, onUnavailable: () => undefined });
    const environmentId = textOf(flags, '--environment');
    const target = await server('import target', { environmentId });
    const isNew = await server('import signing-key', { environmentId: target.id, id, keyText });
    print(
      isNew ? `Tokens signed with ${id} are accepted in ${target.name}.` : `The signing key ${id} was here before.`,
    );
    return 0;
  },
};

const readKeyFile = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw usageError(`The file ${file} can't be read (${(error as NodeJS.ErrnoException).code}).`);
  }
};

export const importCommands: Readonly<Record<string, Command>> = {
  'import mux': mux,
  'import signing-key': signingKey,
};
