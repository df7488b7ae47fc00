import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../support/processes/run-cli.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { type Receiver, startReceiver } from '../../support/servers/webhook-receiver.js';

/**
 * Clears the screen, sets the title, goes back to the start of the line, and turns the text around,
 * with C0, C1 and UAX 9.
 */
const STEERING = 'a\x1b[2Jb\x1b]0;title\x07c\rd\x08e\u009b2Jf\u202eg\u2066h\u2028i\x7f\nj\tk';

let server: Booted;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver((_, response, { path }) => {
    const bodies: Record<string, string> = { '/bad': 'no room', '/steering': STEERING, '/steering-bad': STEERING };
    response.writeHead(path.endsWith('bad') ? 500 : 200).end(bodies[path] ?? 'thank you');
  });
  server = await boot({ options: { ALLOW_PRIVATE_SOURCES: '127.0.0.0/8,::1/128' } });
});
afterAll(async () => {
  await server?.stop();
  await receiver?.stop();
});

const kinora = (...args: string[]) =>
  runCli(['webhook', ...args], {
    KINORA_PUBLIC_URL: server.url,
    KINORA_TOKEN: `${server.token.id}:${server.token.secret}`,
  });

const create = async (address: string): Promise<string> => {
  const { stdout } = await kinora('create', address);
  const [, id] = /^ID +SIGNING SECRET\n([a-z0-9]{6}) {2}[a-z0-9]{32}\n$/.exec(stdout) ?? [];
  return id!;
};

describe('kinora webhook', () => {
  it('makes, tries, lists and deletes webhooks', async () => {
    const id = await create(`${receiver.url}/in`);
    const tested = await kinora('test', id);
    expect(tested).toMatchObject({ status: 0, stderr: '' });
    expect(tested.stdout).toMatch(/^status 200 after \d+ ms\nthank you\n$/);
    expect(receiver.at('/in')).toMatchObject([
      { event: { type: 'kinora.webhook.test', object: { type: 'webhook', id } } },
    ]);
    expect((await kinora('list')).stdout).toContain(`${receiver.url}/in`);
    expect((await kinora('deliveries', id)).stdout).toMatch(/succeeded +1 +status 200 +- +kinora\.webhook\.test/);
    expect(await kinora('delete', id)).toMatchObject({ status: 0, stdout: `${id} is deleted.\n` });
    expect((await kinora('list')).stdout).not.toContain(receiver.url);
  });

  it('prints nothing that steers the terminal', async () => {
    const shown = 'a [2Jb ]0;title c d e 2Jf g h i \nj\tk';
    const id = await create(`${receiver.url}/steering`);
    expect((await kinora('test', id)).stdout).toContain(`\n${shown}\n`);
    const json = (await kinora('test', id, '--json')).stdout;
    expect(JSON.parse(json).attempts[0].response_body).toBe(STEERING);
    expect(json).not.toMatch(/(?!\n)[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u);
    const refused = await kinora('test', await create(`${receiver.url}/steering-bad`));
    expect(refused.stderr).toContain(shown);
  });

  it('says what went wrong', async () => {
    const id = await create(`${receiver.url}/bad`);
    const refused = await kinora('test', id);
    expect(refused).toMatchObject({ status: 1, stdout: '' });
    expect(refused.stderr).toMatch(/did not accept the event: status 500 after \d+ ms: no room/);
    const taken = await kinora('create', `${receiver.url}/bad`);
    expect(taken).toMatchObject({ status: 1, stderr: 'kinora: address is already in use by another webhook\n' });
    const internal = await kinora('create', 'http://10.0.0.1/in');
    expect(internal).toMatchObject({ status: 1, stdout: '' });
    expect(internal.stderr).toContain('--allow-private-sources');
    for (const unknown of ['zzzzzz', '..', '']) {
      expect(await kinora('test', unknown)).toMatchObject({ status: 1, stdout: '' });
    }
  });
});
