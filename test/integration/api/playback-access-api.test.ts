/** Signing keys and playback restrictions, driven by the official SDK. */
import { createPrivateKey, createPublicKey } from 'node:crypto';
import Mux from '@mux/mux-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Api, startApi } from '../../support/servers/api.js';
import { expectError, NOT_FOUND } from '../../support/wire/expect-error.js';

let api: Api;
let mux: Mux;
beforeAll(async () => {
  api = await startApi();
  mux = api.sdk();
});
afterAll(() => api?.stop());

const collect = async <T>(list: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const item of list) all.push(item);
  return all;
};

describe('signing keys', () => {
  test('are made, listed oldest first, read and removed', async () => {
    const made = [];
    for (let count = 0; count < 3; count++) made.push(await mux.system.signingKeys.create());
    const shown = made.map(({ private_key: _, ...rest }) => rest);
    expect(await collect(mux.system.signingKeys.list({ limit: 2 }))).toEqual(shown);
    expect(await collect(mux.system.signingKeys.list({ limit: 2, page: 2 }))).toEqual(shown.slice(2));
    expect(await mux.system.signingKeys.retrieve(made[1]!.id)).toEqual(shown[1]);
    await mux.system.signingKeys.delete(made[1]!.id);
    expect(api.forgotten).toContainEqual({ signingKeyId: made[1]!.id });
    await expect(mux.system.signingKeys.retrieve(made[1]!.id)).rejects.toBeInstanceOf(Mux.NotFoundError);
    await expect(mux.system.signingKeys.delete(made[1]!.id)).rejects.toBeInstanceOf(Mux.NotFoundError);
    await expect(mux.system.signingKeys.delete('no-id')).rejects.toBeInstanceOf(Mux.NotFoundError);
    expect(await collect(mux.system.signingKeys.list())).toEqual([shown[0], shown[2]]);
  });

  test('give out a private key of 2048 bits in PKCS#1, of which only the public half is stored', async () => {
    const { id, created_at, private_key } = await mux.system.signingKeys.create();
    expect([id, created_at]).toEqual([expect.stringMatching(/^[A-Za-z0-9]{40}$/), expect.stringMatching(/^\d{10}$/)]);
    const pem = Buffer.from(private_key!, 'base64').toString();
    expect(pem).toMatch(/^-----BEGIN RSA PRIVATE KEY-----\n/);
    const key = createPrivateKey(pem);
    expect(key.asymmetricKeyDetails?.modulusLength).toBe(2048);
    const stored = await api.database.queryable
      .selectFrom('signing_key')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    expect(stored.public_key).toBe(createPublicKey(key).export({ type: 'spki', format: 'pem' }));
    expect(JSON.stringify(stored)).not.toContain('PRIVATE');
  });

  test('have a deprecated address that is the same', async () => {
    const response = await api.call('POST', '/video/v1/signing-keys', { ignored: true });
    expect(response.status).toBe(201);
    const { data } = await response.json();
    expect(Object.keys(data)).toEqual(['id', 'created_at', 'private_key']);
    const read = async (path: string) => (await (await api.call('GET', path)).json()).data;
    expect(await read(`/video/v1/signing-keys/${data.id}`)).toEqual(await read(`/system/v1/signing-keys/${data.id}`));
    expect(await read('/video/v1/signing-keys')).toEqual(await read('/system/v1/signing-keys'));
    expect((await api.call('DELETE', `/video/v1/signing-keys/${data.id}`)).status).toBe(204);
    await expectError(await api.call('GET', `/system/v1/signing-keys/${data.id}`), 404, 'not_found', [NOT_FOUND]);
  });

  test.each([
    ['/system/v1/signing-keys', ['video:read', 'video:write'], 403, 403],
    ['/system/v1/signing-keys', ['system:read'], 200, 403],
    ['/system/v1/signing-keys', ['system:write'], 403, 201],
    ['/video/v1/signing-keys', ['video:read'], 200, 403],
    ['/video/v1/signing-keys', ['video:write'], 403, 201],
    ['/video/v1/signing-keys', ['system:read', 'system:write'], 200, 201],
    ['/video/v1/signing-keys', ['data:read', 'robots:read', 'robots:write'], 403, 403],
    ['/video/v1/playback-restrictions', ['system:read', 'system:write'], 403, 403],
  ])('%s with %j answers %i to GET and %i to POST', async (path, permissions, get, post) => {
    const token = await api.newToken({ name: 'some', permissions });
    expect((await api.callAs(token, 'GET', path)).status).toBe(get);
    expect((await api.callAs(token, 'POST', path)).status).toBe(post);
  });
});

describe('playback restrictions', () => {
  const rules = { referrer: { allowed_domains: ['a.example'], allow_no_referrer: true } };
  const userAgent = { allow_no_user_agent: false, allow_high_risk_user_agent: false };

  test('are made, listed newest first with their number, read, changed and removed', async () => {
    const made = [];
    for (let count = 0; count < 3; count++)
      made.unshift(await mux.video.playbackRestrictions.create({ ...rules, user_agent: userAgent }));
    expect(made[0]).toMatchObject({ ...rules, user_agent: userAgent });
    expect(await collect(mux.video.playbackRestrictions.list({ limit: 2 }))).toEqual(made);
    expect(await (await api.call('GET', '/video/v1/playback-restrictions?limit=2&page=2')).json()).toEqual({
      data: made.slice(2),
      total_row_count: 3,
      page: 2,
      limit: 2,
    });
    const [{ id }] = made as [(typeof made)[0]];
    expect(await mux.video.playbackRestrictions.retrieve(id)).toEqual(made[0]);

    const referred = await mux.video.playbackRestrictions.updateReferrer(id, { allowed_domains: ['*'] });
    expect(referred).toEqual({
      ...made[0],
      updated_at: expect.any(String),
      referrer: { allowed_domains: ['*'], allow_no_referrer: false },
    });
    const opened = { allow_no_user_agent: true, allow_high_risk_user_agent: true };
    expect(await mux.video.playbackRestrictions.updateUserAgent(id, opened)).toEqual({
      ...referred,
      updated_at: expect.any(String),
      user_agent: opened,
    });
    await mux.video.playbackRestrictions.delete(id);
    expect(api.forgotten.filter((entry) => (entry as { restrictionId?: string }).restrictionId === id)).toHaveLength(3);
    await expect(mux.video.playbackRestrictions.retrieve(id)).rejects.toBeInstanceOf(Mux.NotFoundError);
    await expect(mux.video.playbackRestrictions.updateUserAgent(id, opened)).rejects.toBeInstanceOf(Mux.NotFoundError);
    await expect(mux.video.playbackRestrictions.delete(id)).rejects.toBeInstanceOf(Mux.NotFoundError);
    expect(await collect(mux.video.playbackRestrictions.list())).toEqual(made.slice(1));
  });
});

test('another environment sees none of them', async () => {
  const key = await mux.system.signingKeys.create();
  const restriction = await mux.video.playbackRestrictions.create({
    referrer: { allowed_domains: [] },
    user_agent: {},
  });
  const other = await api.newEnvironment('Other');
  const token = await api.newToken({ name: 'other', environmentId: other.id });
  const foreign = api.sdk(token);
  expect(await collect(foreign.system.signingKeys.list())).toEqual([]);
  expect(await collect(foreign.video.playbackRestrictions.list())).toEqual([]);
  for (const call of [
    () => foreign.system.signingKeys.retrieve(key.id),
    () => foreign.system.signingKeys.delete(key.id),
    () => foreign.video.playbackRestrictions.retrieve(restriction.id),
    () => foreign.video.playbackRestrictions.delete(restriction.id),
    () => foreign.video.playbackRestrictions.updateReferrer(restriction.id, { allowed_domains: ['*'] }),
  ]) {
    await expect(call()).rejects.toBeInstanceOf(Mux.NotFoundError);
  }
  expect((await mux.system.signingKeys.retrieve(key.id)).id).toBe(key.id);
  expect((await mux.video.playbackRestrictions.retrieve(restriction.id)).referrer.allowed_domains).toEqual([]);
});
