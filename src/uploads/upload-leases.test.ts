import { expect, it } from 'vitest';
import { scriptedDatabase } from '../../test/support/scripted-database.js';
import type { Database } from '../db/database.js';
import { UploadLeases } from './upload-leases.js';

const open = (fails: (statement: string) => boolean) => {
  const released: string[] = [];
  const queryable = scriptedDatabase((statement) => {
    if (statement.startsWith('update')) released.push(statement);
    if (fails(statement)) throw new Error(statement.split(' ')[0]);
    return [{ upload_id: 'upload', lease_token: 'token', saved_by: 'another.token', parts: [], tails: [] }];
  });
  return { released, leases: new UploadLeases({ queryable } as Database) };
};

it('gives a lease back when the server that had it can not be told', async () => {
  const { leases, released } = open((statement) => statement.includes('pg_notify'));
  await expect(leases.take('upload')).rejects.toThrow('select');
  expect(released).toHaveLength(1);
});

it('does not fail when a lease can not be given back, which would hide what failed before', async () => {
  const { leases, released } = open((statement) => statement.startsWith('update') || statement.startsWith('delete'));
  const lease = await leases.take('upload');
  await lease.release();
  await lease.forget();
  expect(released).toHaveLength(1);
});
