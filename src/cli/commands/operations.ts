import type { LogLines } from '../../control/control-handlers.js';
import { isKinoraError, KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import { administer } from '../support/administer.js';
import { askServer } from '../support/ask-server.js';
import { type Command, dataSettings, json, textOf, wholeNumberOf } from '../support/command.js';
import { printError, printJsonLine, printRows } from '../support/print.js';
import { stats } from './stats.js';

const DEFAULT_JOBS = 100;
const DEFAULT_LINES = 20;
/** What the server keeps. */
const MAX_LINES = 1000;

const jobs: Command = {
  summary: 'list background jobs that run or wait, and those that ended in the last day',
  args: ['[asset-id]'],
  flags: {
    '--state <state>': {
      doc: 'only jobs in this state',
      choices: ['queued', 'active', 'done', 'failed', 'cancelled'],
    },
    '--limit <number>': `at most so many; ${DEFAULT_JOBS} if absent`,
    ...json,
  },
  settings: dataSettings,
  examples: [
    'kinora jobs',
    'kinora jobs uPSf3Kx9ePh5ZxzXPsdKK01ZFDgrCJKGqAbCdEfG',
    'kinora jobs --state failed --limit 20 --json',
  ],
  run: async ({ args, flags, ...context }) => {
    const assetId = args[0];
    if (assetId !== undefined && !isId(assetId)) {
      throw new KinoraError('not_found', { messages: [`There is no asset with the id ${JSON.stringify(assetId)}.`] });
    }
    const state = textOf(flags, '--state');
    const jobs = await administer(context, 'jobs list', {
      limit: wholeNumberOf(flags, '--limit', 1, 10_000) ?? DEFAULT_JOBS,
      assetId,
      state,
    });
    printRows(flags, jobs, ['QUEUE', 'STATE', 'ASSET', 'ATTEMPT', 'CREATED', 'ENDED', 'ERROR'], (job) => [
      job.queue,
      job.state,
      job.asset_id ?? '-',
      `${job.attempt} of ${job.max_attempts}`,
      job.created_at,
      job.finished_at ?? '-',
      job.error?.messages.join(' ') ?? '-',
    ]);
    return 0;
  },
};

const logs: Command = {
  summary: 'print the latest log lines of the running server, and follow them',
  args: [],
  flags: {
    '--follow': 'print new lines until the server stops or Ctrl-C is pressed',
    '--lines <number>': `lines to begin with, at most ${MAX_LINES}; ${DEFAULT_LINES} if absent`,
    '--json': 'print the lines as JSON, one object each',
  },
  settings: ['dataDir'],
  examples: ['kinora logs', 'kinora logs --follow', 'kinora logs --lines 200 --json'],
  run: async ({ config, flags }) => {
    const limit = wholeNumberOf(flags, '--lines', 0, MAX_LINES) ?? DEFAULT_LINES;
    const { createLineFormatter } = await import('../../telemetry/logger.js');
    const format = createLineFormatter(process.stdout.isTTY === true);
    const write = (line: string): void => {
      if (flags['--json']) printJsonLine(line);
      // Colors are control sequences as well.
      else process.stdout.write(`${format(line).trimEnd()}\n`);
    };
    const latest = await askServer<LogLines>(config.dataDir, 'logs', { after: 0, wait: false });
    if (limit > 0) for (const line of latest.lines.slice(-limit)) write(line);
    if (flags['--follow']) await follow(config.dataDir, latest.next, write);
    return 0;
  },
};

/** Ends when the server does. */
const follow = async (dataDir: string, start: number, write: (line: string) => void): Promise<void> => {
  for (let after = start; ; ) {
    let response: LogLines;
    try {
      response = await askServer<LogLines>(dataDir, 'logs', { after, wait: true });
    } catch (error) {
      if (!isKinoraError(error, 'unavailable')) throw error;
      printError('The server stopped.');
      return;
    }
    const missed = response.next - after - response.lines.length;
    if (missed > 0) printError(`${missed} lines came too fast and are not shown.`);
    for (const line of response.lines) write(line);
    after = response.next;
  }
};

export const operationCommands: Readonly<Record<string, Command>> = { jobs, stats, logs };
