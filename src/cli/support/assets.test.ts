import { expect, it } from 'vitest';
import { KinoraError } from '../../lib/errors.js';
import { newId } from '../../lib/ids.js';
import type { ApiCall } from './api-client.js';
import { watchAssets } from './assets.js';

it('shows a line for each change of an asset, not for each look at it', async () => {
  const [slow, quick] = [newId(), newId()];
  const states: Record<string, (string | undefined)[]> = {
    [slow]: ['downloading', 'downloading', undefined, 'downloading', 'transcoding', 'transcoding', 'completed'],
    [quick]: ['downloading', 'downloading', 'downloading', 'completed'],
  };
  const api = (async (_: string, path: string) => {
    const id = path.split('/').at(-1)!;
    const state = states[id]!.shift();
    if (state === undefined) throw new KinoraError('unavailable');
    const status = state === 'completed' ? 'ready' : 'preparing';
    return { data: { id, status, progress: { state, progress: 7 } } };
  }) as unknown as ApiCall;
  const lines: string[] = [];
  const show = (text: string): void => void lines.push(text);
  await watchAssets(api, [slow, quick], { show, end: () => undefined });
  expect(lines).toEqual([
    `${slow}  downloading`,
    `${quick}  downloading`,
    'waiting for the server',
    `${slow}  downloading`,
    `${quick}  downloading`,
    `${slow}  transcoding 7 %`,
    `${quick}  ready`,
    `${slow}  ready`,
  ]);
});
