import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCli } from '../../support/processes/run-cli.js';
import { type Api, startApi } from '../../support/servers/api.js';
import { fillAssets } from '../../support/servers/many-assets.js';

let server: Api;
beforeAll(async () => {
  server = await startApi();
  await fillAssets(server.database);
});
afterAll(() => server?.stop());

const run = async (...args: string[]) => {
  const before = server.logger.lines.length;
  const { status, stdout, stderr } = await runCli(['asset', ...args], {
    KINORA_PUBLIC_URL: server.origin,
    KINORA_TOKEN: server.token,
  });
  const requests = server.logger.lines.slice(before).filter(({ message }) => message === 'request').length;
  return { status, stdout, stderr, requests };
};

it('asks the server for the assets that match, and for no others', async () => {
  const one = await run('list', '--title', 'TITLE 9998', '--json');
  expect(JSON.parse(one.stdout).map(({ meta }: { meta: object }) => meta)).toEqual([{ title: 'Title 9998' }]);
  expect(one.requests).toBe(1);
  const errored = await run('list', '--status', 'errored', '--json');
  const assets: { status: string }[] = JSON.parse(errored.stdout);
  expect(assets.map(({ status }) => status)).toEqual(Array(200).fill('errored'));
  // Two full pages, and the one that shows that there are no more.
  expect(errored.requests).toBe(3);
  const some = await run('list', '--limit', '120', '--json');
  expect(JSON.parse(some.stdout)).toHaveLength(120);
  expect(some.requests).toBe(2);
  expect((await run('list', '--title', '100%')).stdout).not.toContain('Title');
});

it('refuses an empty title, which would choose every asset', async () => {
  for (const title of ['', '  '])
    expect(await run('delete', '--title', title, '--yes')).toMatchObject({
      status: 2,
      stderr: 'kinora: --title must not be empty.\n',
      requests: 0,
    });
});
