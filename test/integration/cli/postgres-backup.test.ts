import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { cliPath } from '../../support/processes/run-cli.js';

const directory = mkdtempSync(join(tmpdir(), 'kinora-cli-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const hasPostgres = existsSync('/usr/bin/pg_virtualenv');

/** Runs inside `pg_virtualenv`, which says by PG variables where its server is. */
const script = `
set -eu
base="postgres://$PGUSER:$PGPASSWORD@$PGHOST:$PGPORT"
createdb first
createdb second
export KINORA_DATA_DIR="$1/data" KINORA_DATABASE_URL="$base/first"
node "$2" env create Staging --type development
node "$2" token create --name ci >/dev/null
node "$2" backup "$1/backup"
node "$2" env list > "$1/before"
export KINORA_DATA_DIR="$1/restored" KINORA_DATABASE_URL="$base/second"
node "$2" restore "$1/backup"
node "$2" env list > "$1/after"
cmp "$1/before" "$1/after"
cat "$1/restored/token"
if env -u KINORA_DATABASE_URL KINORA_DATA_DIR="$1/third" node "$2" restore "$1/backup"; then exit 1; else echo "status $?"; fi
`;

it.runIf(hasPostgres)('saves and restores an installation beside PostgreSQL', async () => {
  mkdirSync(join(directory, 'data'));
  writeFileSync(join(directory, 'data', 'token'), 'kept\n');
  execFileSync('chmod', ['-R', 'go+rX', directory]);
  const args = ['-t', 'sh', '-c', script, 'sh', directory, cliPath];
  const { stdout, stderr } = await promisify(execFile)('pg_virtualenv', args);
  expect(stdout).toMatch(/^kept$/m);
  expect(stdout).toMatch(/^status 2$/m);
  expect(stderr).toContain('set KINORA_DATABASE_URL to an empty database');
  expect(existsSync(join(directory, 'third'))).toBe(false);
});
