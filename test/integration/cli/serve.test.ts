import type { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { runCli, startCli } from '../../support/processes/run-cli.js';
import { freePort } from '../../support/servers/free-port.js';

const directory = mkdtempSync(join(tmpdir(), 'kinora-cli-'));
const env = { KINORA_DATA_DIR: join(directory, 'data'), KINORA_PORT: '0', KINORA_SAMPLE: 'false' };
const running = new Set<ReturnType<typeof spawn>>();
afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Starts a server and waits for the block that it prints. */
const serve = async () => {
  const server = startCli(['serve'], env);
  running.add(server.child);
  server.child.on('exit', () => running.delete(server.child));
  const block = await server.until(/Address +(\S+)[\s\S]*curl .*/);
  return { ...server, block, url: /Address +(\S+)/.exec(block)?.[1] ?? '' };
};

describe('kinora serve', () => {
  it('prints a token once, keeps it for this machine, stops on SIGTERM', async () => {
    const first = await serve();
    const token = /Access token +(\S+)/.exec(first.block)?.[1] ?? '';
    expect(token).toMatch(/^[0-9a-f-]{36}:.{75}$/);
    const tokenPath = join(env.KINORA_DATA_DIR, 'token');
    expect(readFileSync(tokenPath, 'utf8')).toBe(`${token}\n`);
    expect(statSync(tokenPath).mode & 0o777).toBe(0o600);

    const authorization = `Basic ${Buffer.from(token).toString('base64')}`;
    const whoami = await fetch(`${first.url}/system/v1/whoami`, { headers: { authorization } });
    expect(whoami.status).toBe(200);

    const api = { ...env, KINORA_PUBLIC_URL: first.url };
    expect(await runCli(['asset', 'list'], api)).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^ID .*TITLE\n$/),
    });
    const unknown = await runCli(['asset', 'show', 'A'.repeat(40)], api);
    expect(unknown).toMatchObject({ status: 1, stderr: expect.stringContaining("doesn't exist") });
    expect(unknown.stderr).toContain('\nkinora: Is it a playback ID? kinora asset list shows asset IDs.\n');
    // Nothing answers there, and the guard refuses the address anyway: the asset ends with the
    // reason.
    const refused = await runCli(['asset', 'create', 'http://127.0.0.1:1/video.mp4'], api);
    expect(refused).toMatchObject({ status: 1, stdout: '' });
    expect(refused.stderr).toMatch(/errored\n[\s\S]*kinora: The input URL is not allowed\.\n/);
    expect(refused.stderr).toContain('start the server with --allow-private-sources');
    expect(first.errors()).toMatch(/127\.0\.0\.1:1.*--allow-private-sources/);
    const listed = await runCli(['asset', 'list'], api);
    const id = /^(\w{40}) {2}errored/m.exec(listed.stdout)?.[1] ?? '';
    expect(await runCli(['asset', 'watch', id], api)).toMatchObject({ status: 1 });
    expect(JSON.parse((await runCli(['asset', 'show', id, '--json'], api)).stdout)).toMatchObject({
      id,
      status: 'errored',
    });
    const shown = await runCli(['asset', 'show', id], api);
    expect(shown.stdout).toMatch(/The input URL is not allowed\. To import from a private address/);
    expect(await runCli(['asset', 'delete', id, '--yes'], api)).toMatchObject({ status: 0 });
    expect(await runCli(['asset', 'delete', id, '--yes'], api)).toMatchObject({ status: 1 });

    expect(await runCli(['serve'], env)).toMatchObject({ status: 75, stdout: '' });
    const doctor = await runCli(['doctor', '--port', new URL(first.url).port], env);
    expect(doctor).toMatchObject({ status: 0, stdout: expect.stringContaining('in use by a running server') });
    expect(doctor.stdout).toContain(`${first.url}/readyz answers`);
    const taken = await runCli(['serve', '--port', new URL(first.url).port], {
      ...env,
      KINORA_DATA_DIR: join(directory, 'other'),
    });
    expect(taken).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^kinora: 127\.0\.0\.1:\d+ is not available \(EADDRINUSE\).* KINORA_PORT/m),
    });

    first.child.kill('SIGTERM');
    expect(await first.exited).toBe(0);

    const second = await serve();
    expect(second.block).not.toContain('Access token');
    expect(second.block).toContain(`$(cat '${tokenPath}')`);
    second.child.kill('SIGINT');
    expect(await second.exited).toBe(0);
    // The log is not mixed into the answer.
    expect(second.output()).not.toContain('"level"');
  });

  it.each([
    ['server', {}],
    ['edge', { KINORA_ROLES: 'edge', KINORA_EDGE_ORIGIN: 'http://127.0.0.1:1', KINORA_EDGE_SECRET: 'e'.repeat(32) }],
  ])('names both options when the metrics get the port of the %s', async (kind, role) => {
    const port = String(await freePort());
    const places = { KINORA_DATA_DIR: join(directory, kind), KINORA_PORT: port, KINORA_METRICS_PORT: port };
    expect(await runCli(['serve'], { ...env, ...places, ...role })).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(
        new RegExp(`^kinora: 127\\.0\\.0\\.1:${port} is in use.* KINORA_PORT or KINORA_METRICS_PORT\\.$`, 'm'),
      ),
    });
  });
});
