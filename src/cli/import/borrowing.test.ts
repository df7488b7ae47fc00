import { expect, it } from 'vitest';
import type { SourceApi } from '../../net/source-api.js';
import { Borrowing } from './borrowing.js';

it('does not wait for ever for a master, and gives it back', async () => {
  const calls: string[] = [];
  const api = {
    call: async (method: string, path: string, body?: object) => {
      calls.push(`${method} ${path.split('/').at(-1)} ${JSON.stringify(body) ?? ''}`.trim());
      return { data: { id: 'a', master_access: 'none', master: { status: 'preparing' } } };
    },
  } as unknown as SourceApi;
  const saved: unknown[] = [];
  const borrowing = new Borrowing({
    ...{ api, assetId: 'a', borrowed: {}, signal: new AbortController().signal },
    save: async (borrowed) => void saved.push(borrowed),
    ...{ pollMs: 1, maxPollMs: 4, masterLimitMs: 20 },
  });
  expect(await borrowing.master()).toBe('The source did not make the master file in time.');
  await borrowing.release();
  expect(saved).toEqual([{ master: true }, null]);
  // Pauses of 1, 2, and six times 4 ms.
  expect(calls.filter((call) => call === 'GET a')).toHaveLength(1 + 8);
  expect(calls.at(-1)).toBe('PUT master-access {"master_access":"none"}');
});
