import { queryObjects } from 'node:v8';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { api, createAsset, serveFiles, settled } from '../../support/wire/create-asset.js';

let server: Booted;
let origin: Origin;

beforeAll(async () => {
  server = await boot();
  origin = await serveFiles([await fixture('h264-aac.mp4')]);
});
afterAll(async () => {
  await origin?.stop();
  await server?.stop();
});

const createAndDelete = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) {
    const { id } = await createAsset(server, { inputs: [{ url: `${origin.url}/0.mp4` }] });
    await settled(server, id);
    await api(server, 'DELETE', `/video/v1/assets/${id}`);
  }
};
/** After garbage collection. */
const liveSignals = (): number => queryObjects(AbortSignal, { format: 'count' });

it('an asset leaves no abort signal in memory', async () => {
  await createAndDelete(2);
  const before = liveSignals();
  await createAndDelete(8);
  // Connections that are kept open may have some.
  expect(liveSignals() - before).toBeLessThan(8);
});
