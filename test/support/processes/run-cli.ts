import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { shortLived } from './node-flags.js';

export const cliPath = fileURLToPath(import.meta.resolve('#kinora/cli/main.js'));

/** The environment of the test run without any option of Kinora. */
export const cleanEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('KINORA_')));

interface CliResult {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

type Options = Readonly<Record<string, string>>;

const claimOldVersion =
  "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.8' } });";
/** Makes processes believe that they run in Node.js 18.20.8. */
export const oldNode = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(claimOldVersion)}` };

/** Put before a command, it takes from root what root may do with every file. */
export const asOrdinaryUser: readonly string[] =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search', '--'] : [];

const spawnCli = (args: readonly string[], env: Options, cwd: string, prefix: readonly string[] = []) => {
  const [command, ...rest] = [...prefix, process.execPath, ...shortLived, cliPath, ...args];
  // Without the sample, which a server makes in seconds of CPU time beside what is tested.
  return spawn(command!, rest, { cwd, env: { ...cleanEnvironment(), KINORA_SAMPLE: 'false', ...env } });
};

/**
 * Runs the built command line to its end, in a directory without a `.env` file unless `cwd` says
 * otherwise.
 */
export const runCli = (
  args: readonly string[],
  env: Options = {},
  cwd = tmpdir(),
  prefix: readonly string[] = [],
): Promise<CliResult> =>
  new Promise((resolve, reject) => {
    const child = spawnCli(args, env, cwd, prefix);
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk) => (stdout += chunk));
    child.stderr.on('data', (chunk) => (stderr += chunk));
    child.on('error', reject);
    child.on('close', (status) => resolve({ status, stdout, stderr }));
  });

/** Starts a command that continues running; the caller ends it. */
export const startCli = (args: readonly string[], env: Options) => {
  const child = spawnCli(args, env, tmpdir());
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => (stdout += chunk));
  child.stderr.on('data', (chunk) => (stderr += chunk));
  const exited = new Promise<number | null>((resolve) => child.on('exit', resolve));
  return {
    child,
    exited,
    output: () => stdout,
    errors: () => stderr,
    /** Standard output as soon as `pattern` is in it. */
    until: (pattern: RegExp): Promise<string> =>
      new Promise((resolve, reject) => {
        child.stdout.on('data', () => pattern.test(stdout) && resolve(stdout));
        child.on('exit', (status) => reject(new Error(`ended with status ${status}: ${stderr}`)));
      }),
  };
};
