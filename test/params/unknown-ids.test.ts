import { afterAll, beforeAll, it } from 'vitest';
import { newId } from '#kinora/lib/ids.js';
import { type Api, startApi } from '../support/servers/api.js';
import { expectNotFound } from '../support/wire/expect-error.js';
import { wholeApi } from '../support/wire/whole-api.js';

let api: Api;
let assetId: string;
beforeAll(async () => {
  api = await startApi();
  const body = { inputs: 'https://media.example.org/walk.mp4' };
  assetId = (await (await api.call('POST', '/video/v1/assets', body)).json()).data.id;
});
afterAll(() => api?.stop());

/** Each operation with each of its parameters. */
const places = Object.values(wholeApi.operations).flatMap(({ method, path }) =>
  [...path.matchAll(/:\w+/g)].map(([name]) => ({ method, path, name: name! })),
);

// A database takes no NUL in a text.
it.each(places)('$method $path with a NUL for $name is not found', async ({ method, path, name }) => {
  const address = path.replaceAll(/:\w+/g, (parameter) => {
    if (parameter === name) return '%00';
    if (parameter === ':workflow') return 'summarize';
    return parameter === ':assetId' ? assetId : newId();
  });
  await expectNotFound(await api.call(method, address));
});
