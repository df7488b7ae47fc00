import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shortLived } from '../../support/processes/node-flags.js';
import { cleanEnvironment, cliPath, runCli } from '../../support/processes/run-cli.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { type Origin, startOrigin } from '../../support/servers/origin.js';
import { api, createAsset } from '../../support/wire/create-asset.js';

const cwd = mkdtempSync(join(tmpdir(), 'kinora-completion-'));
mkdirSync(join(cwd, 'bin'));
const program = `#!/bin/sh\nexec '${process.execPath}' ${shortLived.join(' ')} '${cliPath}' "$@"\n`;
writeFileSync(join(cwd, 'bin', 'kinora'), program, { mode: 0o755 });
writeFileSync(join(cwd, 'holiday.mp4'), '');
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const env = { ...cleanEnvironment(), HOME: cwd, TERM: 'xterm', PATH: `${join(cwd, 'bin')}:${process.env.PATH}` };
/** Not synchronously: the server of the IDs is in this process. @throws when the shell fails */
const shell = async (name: string, args: string[], more: NodeJS.ProcessEnv = {}): Promise<string> =>
  (await promisify(execFile)(name, args, { cwd, env: { ...env, ...more }, timeout: 120_000 })).stdout;
const lacks = (name: string): boolean => spawnSync(name, ['-c', 'true']).error !== undefined;
const candidates = async (...words: string[]): Promise<string[]> =>
  (await runCli(['__complete', '--', ...words])).stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t')[0]!);

/** Completes a line in each shell in the way it does when Tab is pressed. */
const inBash = async (line: string, more?: NodeJS.ProcessEnv): Promise<string[]> => {
  const words = line.split(' ');
  const quoted = words.map((word) => `'${word}'`).join(' ');
  const script = `source <(kinora completion bash); COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}
    _kinora; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return (await shell('bash', ['-c', script], more)).trim().split('\n');
};
const inFish = (line: string, more?: NodeJS.ProcessEnv): Promise<string> =>
  shell('fish', ['-c', `kinora completion fish | source; complete -C '${line}'`], more);

describe('completion', () => {
  it('knows commands, flags and values', async () => {
    expect(await candidates('')).toEqual(expect.arrayContaining(['serve', 'asset', 'completion']));
    expect(await candidates('asset', '')).toEqual(['create', 'list', 'show', 'watch', 'open', 'delete']);
    expect(await candidates('asset', 'create', 'a.mp4', '--policy', '')).toEqual(['public', 'signed']);
    const flags = await candidates('asset', 'list', '--json', '--');
    expect(flags).toEqual(expect.arrayContaining(['--status', '--port']));
    // Neither what is there already, nor the flags of other commands.
    for (const flag of ['--json', '--policy', '--sample']) expect(flags).not.toContain(flag);
    expect(await candidates('asset', 'create', '')).toEqual([':files']);
    expect(await candidates('asset', 'create', 'a.mp4', '')).toEqual([':files']);
    expect(await candidates('sign', 'x', '--key', '')).toEqual([':files']);
    expect(await candidates('nothing', '')).toEqual(['']);
    expect(await candidates('completion', '')).toEqual(['bash', 'zsh', 'fish']);
  });

  it('refuses other shells', async () => {
    expect(await runCli(['completion', 'csh'])).toMatchObject({
      status: 2,
      stderr: 'kinora: The shell must be one of bash, zsh, fish, not "csh".\n',
    });
  });

  it('works in bash', async () => {
    expect(await inBash('kinora as')).toEqual(['asset']);
    expect(await inBash('kinora asset ')).toEqual(['create', 'list', 'show', 'watch', 'open', 'delete']);
    expect(await inBash('kinora asset list --st')).toEqual(['--status', '--stream-url']);
  });

  it.skipIf(lacks('zsh'))('works in zsh', async () => {
    const script = `zmodload zsh/zpty
      zpty shell zsh -f -i
      zpty -w shell 'PS1=; autoload -U compinit; compinit -u -D; source <(kinora completion zsh); print lo""aded'
      zpty -r shell before '*loaded*'
      zpty -w -n shell $'kinora asset cr\\t'
      zpty -r shell completed '*create*'
      zpty -w -n shell $'./hol\\t'
      zpty -r shell completed '*holiday.mp4*'
      zpty -d shell
      print done`;
    expect(await shell('zsh', ['-f', '-c', script])).toContain('done');
  });

  it.skipIf(lacks('fish'))('works in fish', async () => {
    expect(await inFish('kinora asset cr')).toMatch(/^create\tcreate assets/);
    expect(await inFish('kinora asset create --policy ')).toMatch(/^public\n?\s*signed/m);
    expect(await inFish('kinora asset create ho')).toContain('holiday.mp4');
  });
});

describe('completion of IDs', () => {
  let server: Booted;
  let mute: Origin;
  let assets: { id: string; playback_ids?: { id: string }[] }[];
  let reaching: Record<string, string>;
  beforeAll(async () => {
    server = await boot();
    mute = await startOrigin(() => undefined);
    const inputs = [{ url: 'http://127.0.0.1:1/never.mp4' }];
    assets = [
      await createAsset(server, { inputs, playback_policies: ['signed'], meta: { title: 'Pier:\tat\nnight' } }),
      await createAsset(server, { inputs, playback_policies: ['public'], meta: { title: 'Gulls' } }),
    ];
    reaching = {
      KINORA_PUBLIC_URL: server.url,
      KINORA_TOKEN: `${server.token.id}:${server.token.secret}`,
      KINORA_DATA_DIR: server.dataDir,
    };
  });
  afterAll(async () => {
    await server?.stop();
    await mute?.stop();
  });
  const lines = async (words: string[], more: Record<string, string> = {}): Promise<string[]> => {
    const { status, stdout, stderr } = await runCli(['__complete', '--', ...words], { ...reaching, ...more });
    expect([status, stderr]).toEqual([0, '']);
    return stdout.trimEnd().split('\n');
  };

  it('asks the server for those that the argument may name', async () => {
    const [pier, gulls] = assets.map(({ id }) => id) as [string, string];
    const all = [`${gulls}\tGulls`, `${pier}\tPier: at night`];
    for (const words of [['asset', 'show'], ['asset', 'delete'], ['jobs']])
      expect(await lines([...words, ''])).toEqual(all);
    // What the line has already is not wanted again.
    expect(await lines(['asset', 'watch', gulls, ''])).toEqual(all.slice(1));
    expect(await lines(['sign', ''])).toEqual([`${assets[0]!.playback_ids![0]!.id}\tPier: at night`]);
    const made = async (path: string, body?: object) =>
      (await (await api(server, 'POST', path, body)).json()).data as { id: string };
    const upload = await made('/video/v1/uploads', { new_asset_settings: {} });
    expect(await lines(['upload', 'cancel', ''])).toEqual([`${upload.id}\twaiting`]);
    const webhook = await made('/system/v1/webhooks', { address: 'http://127.0.0.1:1/hook' });
    expect(await lines(['webhook', 'test', ''])).toEqual([`${webhook.id}\thttp://127.0.0.1:1/hook`]);
    const budget = await made('/video/v1/delivery-budgets', { period: 'day', bytes: 1e12 });
    expect(await lines(['budget', 'update', ''])).toEqual([`${budget.id}\twithin: everything in the environment`]);
    const key = await made('/system/v1/signing-keys');
    expect(await lines(['signing-key', 'delete', ''])).toEqual([`${key.id}\tsigning key`]);
    expect((await lines(['token', 'revoke', ''])).join()).toContain(server.token.id);
    expect((await lines(['env', 'update', ''])).join()).toMatch(/^\w{6}\tDefault$/);
    expect(await lines(['token', 'create', '--environment', ''])).toEqual(await lines(['env', 'update', '']));
    // The key of an import belongs to another server.
    expect(await lines(['import', 'signing-key', ''])).toEqual(['']);
  });

  it('finds the server by the flags of the line', async () => {
    const elsewhere = { KINORA_PUBLIC_URL: 'http://127.0.0.1:1' };
    expect(await lines(['asset', 'show', ''], elsewhere)).toEqual(['']);
    expect(await lines(['asset', 'show', '--public-url', server.url, ''], elsewhere)).toHaveLength(2);
  });

  it('is silent when the server is away, does not answer, or refuses', async () => {
    const servers: Record<string, string>[] = [
      { KINORA_PUBLIC_URL: 'http://127.0.0.1:1' },
      { KINORA_PUBLIC_URL: mute.url },
      { KINORA_TOKEN: 'a:b' },
      { KINORA_PORT: 'no number' },
    ];
    for (const wrong of servers) expect(await lines(['asset', 'show', ''], wrong)).toEqual(['']);
    expect(await lines(['token', 'revoke', ''], { KINORA_DATA_DIR: cwd })).toEqual(['']);
  });

  it('works in bash', async () => {
    const [pier, gulls] = assets.map(({ id }) => id) as [string, string];
    expect(await inBash('kinora asset show ', reaching)).toEqual([gulls, pier]);
    expect(await inBash(`kinora asset show ${gulls.slice(0, 12)}`, reaching)).toEqual([gulls]);
    expect(await inBash('kinora asset show ', { ...reaching, KINORA_PUBLIC_URL: mute.url })).toEqual(['']);
  });

  it.skipIf(lacks('zsh'))('works in zsh', async () => {
    const { id } = assets[1]!;
    const script = `zmodload zsh/zpty
      zpty shell zsh -f -i
      zpty -w shell 'PS1=; autoload -U compinit; compinit -u -D; source <(kinora completion zsh); print lo""aded'
      zpty -r shell before '*loaded*'
      zpty -w -n shell $'kinora asset show ${id.slice(0, 12)}\t'
      zpty -r shell completed '*${id.slice(12)}*'
      zpty -d shell
      print done`;
    expect(await shell('zsh', ['-f', '-c', script], reaching)).toContain('done');
  });

  it.skipIf(lacks('fish'))('works in fish', async () => {
    const [pier, gulls] = assets.map(({ id }) => id) as [string, string];
    const found = (await inFish('kinora asset show ', reaching)).trim().split('\n');
    expect(found.sort()).toEqual([`${gulls}\tGulls`, `${pier}\tPier: at night`].sort());
    expect((await inFish('kinora asset show ', { ...reaching, KINORA_PUBLIC_URL: mute.url })).trim()).toBe('');
  });
});
