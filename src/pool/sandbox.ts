import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../lib/clock.js';
import { KinoraError } from '../lib/errors.js';
import { findTool } from '../lib/find-tool.js';
import type { Logger } from '../telemetry/logger.js';
import { type Command, MediaProcess } from './media-process.js';
import type { VideoConfigJob } from './protocol.js';

/** From strongest to none. */
export const sandboxLevels = ['bwrap', 'unshare', 'setpriv', 'none'] as const;
export type SandboxLevel = (typeof sandboxLevels)[number];

export interface Sandbox {
  readonly level: SandboxLevel;
  /** Describes the isolation, for the log and `doctor`. */
  readonly description: string;
  /** How to get stronger isolation; absent when this is the strongest. */
  readonly advice?: string | undefined;
  /** Runs a media process at the normal priority. */
  readonly command: Command;
}

export interface SandboxOptions {
  /** Directories that media processes read: sources and stored mezzanines. */
  readonly readDirs: readonly string[];
  /** Files outside these directories that media processes read, if they exist. */
  readonly readFiles?: readonly string[];
  /** The only directory that media processes write to. */
  readonly writeDir: string;
  /**
   * Limit of a process's private memory (RLIMIT_DATA). RLIMIT_AS is useless with V8's reservations.
   */
  readonly memoryBytes: number;
  readonly logger: Logger;
  readonly clock: Clock;
  /** The process's entry script. */
  readonly entryUrl?: URL;
  /** Levels to try; the default is all. */
  readonly levels?: readonly SandboxLevel[];
}

const PROBE_DEADLINE_MS = 20_000;
/**
 * CPU time of one process. The effective limit is the wall-clock deadline, but this one applies
 * even when the server is gone. It is far above what the longest mezzanine takes; each of its
 * threads adds to the total.
 */
const CPU_LIMIT_SECONDS = 7 * 24 * 3600;
const FILE_SIZE_LIMIT_BYTES = 64 * 2 ** 30;
/** Measurements showed that 64 is enough and 24 is not. */
const OPEN_FILES_LIMIT = 256;

const systemLibraries = [
  '/lib',
  '/lib64',
  '/usr/lib',
  '/usr/lib64',
  '/usr/local/lib',
  '/usr/share/nodejs',
  '/nix/store',
  '/etc/ld.so.cache',
];

const descriptions: Record<SandboxLevel, string> = {
  bwrap: 'bubblewrap: no network, own namespaces, only sources and libraries visible, no privileges',
  unshare:
    'unshare and setpriv: no network, own process space, no privileges; every file of the server can be read and changed',
  setpriv: 'setpriv: no privileges; the network can be reached, every file of the server can be read and changed',
  none: 'none: media processes have all rights of the server: the network, every file to read and change',
};

const advice =
  'For the strongest isolation install bubblewrap and util-linux and allow unprivileged user namespaces ' +
  '(sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0; in Docker a seccomp profile that permits them).';

const everyAncestor = (path: string): string[] =>
  dirname(path) === path ? [path] : [path, ...everyAncestor(dirname(path))];

/** The directories of the compiled code and of every node_modules up to the root. */
const appPaths = (entry: string): string[] => {
  const root = dirname(fileURLToPath(new URL('../../package.json', import.meta.url)));
  return [
    join(root, 'dist'),
    join(root, 'package.json'),
    dirname(entry),
    ...everyAncestor(root).map((directory) => join(directory, 'node_modules')),
  ];
};

/**
 * The arguments that run a command in the sandbox, outermost tool first; undefined when a tool is
 * missing.
 */
const wrapper = (level: SandboxLevel, options: SandboxOptions, entry: string): string[] | undefined => {
  const setpriv = findTool('setpriv');
  const dropped = ['--no-new-privs', '--bounding-set=-all', '--inh-caps=-all'];
  switch (level) {
    case 'bwrap': {
      const bwrap = findTool('bwrap');
      if (bwrap === undefined) return undefined;
      const readable = [...systemLibraries, process.execPath, ...appPaths(entry)];
      // Outer directories come first: a later mount covers what an earlier one put at the same
      // path.
      const data = [...options.readDirs.map((path) => ['--ro-bind', path]), ['--bind', options.writeDir]].sort(
        ([, a = ''], [, b = '']) => a.length - b.length,
      );
      return [
        bwrap,
        '--unshare-all',
        '--die-with-parent',
        ...['--uid', '65534', '--gid', '65534'],
        ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
        ...[...readable, ...(options.readFiles ?? [])].flatMap((path) => ['--ro-bind-try', path, path]),
        ...data.flatMap(([kind = '', path = '']) => [kind, path, path]),
        '--',
      ];
    }
    case 'unshare': {
      const unshare = findTool('unshare');
      if (unshare === undefined || setpriv === undefined) return undefined;
      return [
        ...[setpriv, '--pdeathsig', 'KILL'],
        ...[unshare, '--user', '--map-current-user', '--net', '--ipc', '--pid', '--fork', '--kill-child=KILL'],
        ...[setpriv, ...dropped],
      ];
    }
    case 'setpriv':
      return setpriv === undefined ? undefined : [setpriv, '--pdeathsig', 'KILL', ...dropped];
    case 'none':
      return [];
  }
};

const ceilings = (memoryBytes: number): string[] => {
  const prlimit = findTool('prlimit');
  if (prlimit === undefined) return [];
  return [
    prlimit,
    `--data=${memoryBytes}`,
    `--cpu=${CPU_LIMIT_SECONDS}`,
    `--nofile=${OPEN_FILES_LIMIT}`,
    `--fsize=${FILE_SIZE_LIMIT_BYTES}`,
    '--core=0',
  ];
};

const buildSandbox = (level: SandboxLevel, options: SandboxOptions): Sandbox | undefined => {
  const entry = fileURLToPath(options.entryUrl ?? new URL('../engine/start.js', import.meta.url));
  const wrapped = wrapper(level, options, entry);
  if (wrapped === undefined) return undefined;
  const limits = ceilings(options.memoryBytes);
  const [file = process.execPath, ...args] = [...limits, ...wrapped, process.execPath, entry];
  return {
    level,
    description: descriptions[level] + (limits.length === 0 ? '; no limits, prlimit is missing' : ''),
    advice: level === 'bwrap' ? undefined : advice,
    command: { file, args },
  };
};

const probeJob: VideoConfigJob = {
  kind: 'video-config',
  width: 64,
  height: 64,
  frameRate: { num: 25, den: 1 },
  encoder: { preset: 'ultrafast', crf: 30, maxRate: 100_000, level: 30 },
};

/**
 * Finds the strongest level in which a media process starts and completes a small job. Containers
 * often have the tools but forbid the namespaces. Returns that process too; it has read no file.
 * @throws KinoraError `unavailable` when no media process can be started at all
 */
export const chooseSandbox = async (
  options: SandboxOptions,
): Promise<{ readonly sandbox: Sandbox; readonly child: MediaProcess }> => {
  const problems: Record<string, string> = {};
  for (const level of options.levels ?? sandboxLevels) {
    const sandbox = buildSandbox(level, options);
    if (sandbox === undefined) {
      problems[level] = 'not installed';
      continue;
    }
    const child = new MediaProcess(sandbox.command, false, options.clock);
    const outcome = await child.perform(probeJob, { deadlineMs: PROBE_DEADLINE_MS }, {});
    if (outcome.type !== 'crashed') {
      options.logger.info({ sandbox: level, problems }, `media processes isolated by ${sandbox.description}`);
      return { sandbox, child };
    }
    await child.kill();
    problems[level] = outcome.reason;
  }
  throw new KinoraError('unavailable', { messages: ['No media process can be started..'], details: problems });
};
