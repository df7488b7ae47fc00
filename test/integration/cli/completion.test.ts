import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { cleanEnvironment, cliPath, runCli } from '../../support/processes/run-cli.js';

const cwd = mkdtempSync(join(tmpdir(), 'kinora-completion-'));
mkdirSync(join(cwd, 'bin'));
writeFileSync(join(cwd, 'bin', 'kinora'), `#!/bin/sh\nexec '${process.execPath}' '${cliPath}' "$@"\n`, { mode: 0o755 });
writeFileSync(join(cwd, 'holiday.mp4'), '');
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const env = { ...cleanEnvironment(), HOME: cwd, TERM: 'xterm', PATH: `${join(cwd, 'bin')}:${process.env.PATH}` };
const shell = (name: string, ...args: string[]): string => {
  const { stdout, stderr, status } = spawnSync(name, args, { cwd, env, encoding: 'utf8', timeout: 120_000 });
  expect(status, stderr).toBe(0);
  return stdout;
};
const lacks = (name: string): boolean => spawnSync(name, ['-c', 'true']).error !== undefined;
const candidates = async (...words: string[]): Promise<string[]> =>
  (await runCli(['__complete', '--', ...words])).stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t')[0]!);

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

  // Each shell completes in the way it does when Tab is pressed.
  it('works in bash', () => {
    const completed = (line: string): string[] => {
      const words = line
        .split(' ')
        .map((word) => `'${word}'`)
        .join(' ');
      const script = `source <(kinora completion bash); COMP_WORDS=(${words}); COMP_CWORD=${line.split(' ').length - 1}
        _kinora; printf '%s\\n' "\${COMPREPLY[@]}"`;
      return shell('bash', '-c', script).trim().split('\n');
    };
    expect(completed('kinora as')).toEqual(['asset']);
    expect(completed('kinora asset ')).toEqual(['create', 'list', 'show', 'watch', 'open', 'delete']);
    expect(completed('kinora asset list --st')).toEqual(['--status', '--stream-url']);
  });

  it.skipIf(lacks('zsh'))('works in zsh', () => {
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
    expect(shell('zsh', '-f', '-c', script)).toContain('done');
  });

  it.skipIf(lacks('fish'))('works in fish', () => {
    const completed = (line: string): string =>
      shell('fish', '-c', `kinora completion fish | source; complete -C '${line}'`);
    expect(completed('kinora asset cr')).toMatch(/^create\tcreate assets/);
    expect(completed('kinora asset create --policy ')).toMatch(/^public\n?\s*signed/m);
    expect(completed('kinora asset create ho')).toContain('holiday.mp4');
  });
});
