import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cleanEnvironment } from '../processes/run-cli.js';

const { resolve: locate } = createRequire(import.meta.url);

/**
 * False, with a warning, where npm has no build of the official command line for the machine; in CI
 * that is a failure.
 */
export const hasMuxCli = (): boolean => {
  try {
    locate(`@mux/cli-${process.platform}-${process.arch}/mux`);
    return true;
  } catch (cause) {
    const text = `@mux/cli has no binary for ${process.platform} ${process.arch}; its tests cannot run`;
    if (process.env.CI === 'true') throw new Error(text, { cause });
    console.warn(`SKIPPED: ${text}`);
    return false;
  }
};

interface MuxResult {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * The official command line as npm installs it, working on `server` and without what the user of
 * this machine has stored.
 */
export const createMuxCli = (server: {
  readonly url: string;
  readonly token: { readonly id: string; readonly secret: string };
}) => {
  const home = mkdtempSync(join(tmpdir(), 'mux-cli-'));
  const env = {
    ...cleanEnvironment(),
    HOME: home,
    XDG_CONFIG_HOME: home,
    XDG_CACHE_HOME: home,
    NO_COLOR: '1',
    MUX_BASE_URL: server.url,
    MUX_TOKEN_ID: server.token.id,
    MUX_TOKEN_SECRET: server.token.secret,
  };
  const run = (args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<MuxResult> =>
    new Promise((done, reject) => {
      const child = spawn(process.execPath, [locate('@mux/cli/bin/mux'), ...args], {
        cwd: home,
        env: { ...env, ...more },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let stdout = '';
      let stderr = '';
      child.stdout.on('data', (chunk) => (stdout += chunk));
      child.stderr.on('data', (chunk) => (stderr += chunk));
      child.on('error', reject);
      child.on('close', (status) => done({ status, stdout, stderr }));
    });
  /** Standard output of a call that must succeed. */
  const succeed = async (args: readonly string[], more?: Readonly<Record<string, string>>): Promise<string> => {
    const { status, stdout, stderr } = await run(args, more);
    if (status !== 0) throw new Error(`mux ${args.join(' ')} ended with ${status}: ${stdout}${stderr}`);
    return stdout;
  };
  return {
    run,
    succeed,
    /** The answer to `--json`. */
    json: async <T>(...args: readonly string[]): Promise<T> => JSON.parse(await succeed([...args, '--json'])) as T,
    remove: () => rmSync(home, { recursive: true, force: true }),
  };
};
