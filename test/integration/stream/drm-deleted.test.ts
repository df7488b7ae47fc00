/** DRM configurations that are deleted while something is made that uses them. */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Database } from '#kinora/db/database.js';
import { createDrmConfiguration, deleteDrmConfiguration } from '#kinora/domain/drm/configurations.js';
import { systemClock } from '#kinora/lib/clock.js';
import { describeOnBothEngines } from '../../contract/engines.js';
import { type Api, startApi } from '../../support/servers/api.js';
import { expectError } from '../../support/wire/expect-error.js';

/** `holdNext` keeps the next transaction open before its commit. */
const withHeldCommits = (database: Database) => {
  let beforeCommit: (() => Promise<void>) | undefined;
  return {
    database: {
      engine: database.engine,
      queryable: database.queryable,
      listen: (...of) => database.listen(...of),
      ping: () => database.ping(),
      transaction: (work) =>
        database.transaction(async (tx) => {
          const result = await work(tx);
          const hold = beforeCommit;
          beforeCommit = undefined;
          await hold?.();
          return result;
        }),
      close: async () => undefined,
    } satisfies Database,
    /** Resolves to the way to continue, when the transaction has done its work. */
    holdNext: (): Promise<() => void> =>
      new Promise((held) => {
        beforeCommit = () => new Promise<void>((release) => held(release));
      }),
  };
};

describeOnBothEngines('a DRM configuration', (database) => {
  let api: Api;
  let commits: ReturnType<typeof withHeldCommits>;
  beforeAll(async () => {
    commits = withHeldCommits(database());
    api = await startApi({ database: commits.database });
  });
  afterAll(() => api?.stop());

  const newConfiguration = () =>
    createDrmConfiguration(
      database(),
      { name: 'x', keySource: 'local', settings: { clearKey: true, licenses: {}, allowPrivate: false } },
      systemClock,
    );
  const newAsset = (fields: object) =>
    api.call('POST', '/video/v1/assets', {
      inputs: 'https://media.example.org/walk.mp4',
      video_quality: 'plus',
      ...fields,
    });
  const drm = (id: string) => ({ policy: 'drm', drm_configuration_id: id });
  type Way = readonly [what: string, field: string, make: (id: string, assetId: string) => Promise<Response>];
  const ways: Way[] = [
    [
      'an asset',
      'advanced_playback_policies[0].drm_configuration_id',
      (id) => newAsset({ advanced_playback_policies: [drm(id)] }),
    ],
    [
      'a playback id',
      'drm_configuration_id',
      (id, assetId) => api.call('POST', `/video/v1/assets/${assetId}/playback-ids`, drm(id)),
    ],
  ];
  const prepare = async () => {
    const [id, asset] = [await newConfiguration(), await (await newAsset({})).json()];
    return { id, assetId: asset.data.id as string };
  };
  /**
   * Until the second transaction waits for the first one. The embedded engine begins it after the
   * first one has ended.
   */
  const untilBlocked = async (): Promise<void> => {
    if (database().engine === 'pglite') return;
    const waiting = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await vi.waitFor(async () => expect((await waiting.execute(database().queryable)).rows).toHaveLength(1), 30_000);
  };

  it.each(ways)('stays when %s is made that uses it', async (_, __, make) => {
    const { id, assetId } = await prepare();
    const held = commits.holdNext();
    const made = make(id, assetId);
    const release = await held;
    const deleted = deleteDrmConfiguration(database(), id).catch((error: unknown) => error);
    await untilBlocked();
    release();
    expect((await made).status).toBe(201);
    expect(await deleted).toMatchObject({
      code: 'invalid_parameters',
      messages: [`1 playback IDs use the DRM configuration ${id}. Delete them first.`],
    });
  });

  it.each(ways)('that goes while %s is made is named by its field', async (_, field, make) => {
    const { id, assetId } = await prepare();
    const held = commits.holdNext();
    const deleted = deleteDrmConfiguration(commits.database, id);
    const release = await held;
    const made = make(id, assetId);
    await untilBlocked();
    release();
    await deleted;
    await expectError(await made, 400, 'invalid_parameters', [
      `${field} does not refer to an existing DRM configuration`,
    ]);
  });
});
