import Mux from '@mux/mux-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Booted, boot } from '../support/boot.js';
import { type Receiver, startReceiver } from '../support/webhook-receiver.js';

let server: Booted;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
  server = await boot();
});
afterAll(async () => {
  await server?.stop();
  await receiver?.stop();
});

const connect = () =>
  new Mux({ baseURL: server.url, tokenId: server.token.id, tokenSecret: server.token.secret, maxRetries: 0 });

describe('the official SDK', () => {
  it('makes a webhook and accepts what comes to it, but no changed byte', async () => {
    const mux = connect();
    const webhook = await mux.system.webhooks.create({ address: `${receiver.url}/in` });
    expect(webhook).toEqual({
      id: expect.stringMatching(/^[a-z0-9]{6}$/),
      address: `${receiver.url}/in`,
      enabled: true,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
      signing_secret: expect.stringMatching(/^[a-z0-9]{32}$/),
    });
    const secret = webhook.signing_secret!;
    const asset = await mux.video.assets.create({
      inputs: [{ url: 'http://127.0.0.1:1/none.mp4' }],
      playback_policies: ['public'],
      meta: { title: 'Smörgåsbord 🎬' },
    });
    const [delivery] = await receiver.until('/in', 1);
    const { body, headers } = delivery!;
    const event = await mux.webhooks.unwrap(body, headers as never, secret);
    expect(event).toMatchObject({ type: 'video.asset.created', object: { type: 'asset', id: asset.id } });
    const changed = body.replace('preparing', 'Preparing');
    expect(changed).not.toBe(body);
    await expect(mux.webhooks.unwrap(changed, headers as never, secret)).rejects.toThrow('No signatures found');
    await expect(mux.webhooks.unwrap(body, headers as never, `${secret}x`)).rejects.toThrow('No signatures found');
    await mux.system.webhooks.delete(webhook.id);
  });
});
