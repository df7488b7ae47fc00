import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openImport } from '#kinora/cli/import/open-import.js';
import { type ImportOptions, type ImportReport, runImport } from '#kinora/cli/import/run-import.js';
import { fixture } from '../../support/media/fixtures.js';
import { fetchBytes, playAll } from '../../support/players/play.js';
import type { OwnedKey } from '../../support/players/playback-token.js';
import { runCli } from '../../support/processes/run-cli.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { type FlakyProxy, startFlakyProxy } from '../../support/servers/flaky-proxy.js';
import { until } from '../../support/servers/server-process.js';
import { api, getAsset, type WireAsset } from '../../support/wire/create-asset.js';
import { createDrmConfiguration, createSigningKey, playbackToken } from '../../support/wire/drm.js';
import { eventsOf } from '../../support/wire/events.js';
import { type FilledAsset, fillSource, type Sources, serveSources } from '../../support/wire/import-source.mjs';

const RECOGNIZER = fileURLToPath(new URL('../../support/processes/recognizer.mjs', import.meta.url));
/** One more than there are kinds. */
const COUNT = 21;

let folder: string;
let files: Sources;
/** Through which the import reads the source. */
let proxy: FlakyProxy;
let source: Booted;
let target: Booted;
let filled: FilledAsset[];
let key: OwnedKey;
let restriction: { id: string };

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kinora-import-'));
  files = await serveSources({
    'video.mp4': await fixture('two-slides.mp4'),
    'silent.mp4': await fixture('video-only.mp4'),
    'audio.m4a': await fixture('audio-only.m4a'),
  });
  const command = `${process.execPath} ${RECOGNIZER} ${join(folder, 'calls')} vtt {audio}`;
  proxy = await startFlakyProxy();
  const options = { SPEECH_COMMAND: command, STREAM_URL: proxy.url };
  [source, target] = await Promise.all([boot({ options }), boot()]);
  proxy.target = source.url;
  const drmConfigurationId = await createDrmConfiguration(source, ['--key-source', 'local']);
  key = await createSigningKey(source);
  restriction = await post('/video/v1/playback-restrictions', { referrer: { allowed_domains: ['*.example.com'] } });
  filled = await fillSource(source, files.url, { count: COUNT, drmConfigurationId });
});
afterAll(async () => {
  await target?.stop();
  await source?.stop();
  await proxy?.stop();
  await files?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const post = async <T>(path: string, body?: object): Promise<T> =>
  ((await (await api(source, 'POST', path, body)).json()) as { data: T }).data;

const importAll = async (changes: Partial<ImportOptions> = {}, to: Booted = target): Promise<ImportReport> => {
  const { signal = new AbortController().signal } = changes;
  const opened = await openImport({
    ...{ sourceUrl: proxy.url, tokenId: source.token.id, tokenSecret: source.token.secret },
    ...{ ratePerSecond: 1000, dataDir: to.dataDir, signal, onWait: () => undefined, retryDelayMs: 1 },
  });
  return runImport({
    ...{ ...opened, signal, stopping: signal, concurrency: 4, prefer: 'master', isDryRun: false, pollMs: 100 },
    onMoved: () => undefined,
    ...changes,
  });
};

const list = async (server: Booted): Promise<WireAsset[]> =>
  ((await (await api(server, 'GET', '/video/v1/assets?limit=100')).json()) as { data: WireAsset[] }).data;
const ofKind = (kind: string): WireAsset => filled.find((entry) => entry.kind === kind)!.asset;
const outcomesOf = (report: ImportReport) =>
  Object.fromEntries(report.assets.map(({ assetId, outcome, notes }) => [assetId, { outcome, notes }]));

/** Shots and masters have URLs with the time of the request. */
const stable = ({ shots: _shots, master: _master, ...asset }: WireAsset) => asset;

/** What the import keeps. Durations and frame rates are those of another file. */
const kept = (
  { tracks = [], static_renditions: renditions, ...asset }: WireAsset,
  unmoved: readonly string[] = [],
) => ({
  ...Object.fromEntries(
    [
      ...['id', 'created_at', 'meta', 'passthrough', 'mp4_support', 'master_access', 'normalize_audio', 'test'],
      ...['video_quality', 'max_resolution_tier', 'ingest_type', 'thumbnail_time', 'source_asset_id', 'aspect_ratio'],
      ...['generate_shots', 'resolution_tier'],
    ].map((field) => [field, asset[field]]),
  ),
  playback_ids: asset.playback_ids?.filter(({ policy }) => !unmoved.includes(policy)),
  tracks: tracks
    .filter(({ status }) => status !== 'errored')
    .map(({ id, type, status, name, language_code, primary, text_source, closed_captions, passthrough }) =>
      JSON.stringify({ id, type, status, name, language_code, primary, text_source, closed_captions, passthrough }),
    )
    .sort(),
  renditions: (renditions as { files?: Record<string, unknown>[] } | undefined)?.files?.map(
    ({ id, name, resolution, status, passthrough }) => ({ id, name, resolution, status, passthrough }),
  ),
});

describe('an import from another server', () => {
  test('writes nothing in a dry run, and says what it would do', async () => {
    const before = await list(source);
    const report = await importAll({ isDryRun: true });
    expect(await list(target)).toEqual([]);
    expect((await list(source)).map(stable)).toEqual(before.map(stable));
    const outcomes = outcomesOf(report);
    expect(outcomes[ofKind('public').id]).toEqual({ outcome: 'planned', notes: [] });
    expect(outcomes[ofKind('failed asset').id]).toEqual({
      outcome: 'skipped',
      notes: ['It failed at the source: The input file is not a valid video file.'],
    });
    expect(outcomes[ofKind('drm').id]!.notes[0]).toMatch(/^The playback ID \w+ is not moved: its policy is drm\./);
    expect(report.remarks).toEqual([
      expect.stringMatching(/^1 signing keys are at the source\./),
      expect.stringMatching(/^1 DRM configurations are not moved\./),
    ]);
    expect(report.playbackRestrictions).toBe(1);
  });

  test('moves every kind of asset with its IDs, and leaves the source as it was', async () => {
    const before = await list(source);
    const report = await importAll();
    const outcomes = outcomesOf(report);
    expect(report.assets).toHaveLength(COUNT);
    for (const { kind, asset } of filled) {
      if (kind === 'failed asset') continue;
      expect(outcomes[asset.id]!.outcome, `${kind}: ${outcomes[asset.id]!.notes}`).toBe('imported');
      const here = await settledRenditions(asset.id);
      expect(kept(here), kind).toEqual(kept(asset, ['drm']));
    }
    expect(await list(target)).toHaveLength(COUNT - filled.filter(({ kind }) => kind === 'failed asset').length);
    expect((await list(source)).map(stable)).toEqual(before.map(stable));
    const restrictions = await api(target, 'GET', `/video/v1/playback-restrictions/${restriction.id}`);
    expect(await restrictions.json()).toMatchObject({ data: { referrer: { allowed_domains: ['*.example.com'] } } });
  });

  test('moves files that play', async () => {
    const { id, playback_ids: ids, tracks } = ofKind('public with text and audio');
    const playbackId = ids![0]!.id;
    const played = Object.keys(await playAll(target.url, playbackId));
    for (const track of tracks!.filter(({ type, primary }) => type !== 'video' && !primary))
      expect(
        played.some((path) => path.includes(track.id as string)),
        `${track.name} of ${id}`,
      ).toBe(true);
    const french = tracks!.find(({ language_code }) => language_code === 'fr')!.id;
    const [there, here] = await Promise.all(
      [source, target].map(async ({ url }) => (await fetchBytes(`${url}/${playbackId}/text/${french}.vtt`)).toString()),
    );
    expect(here).toBe(there);
    const mp4 = ofKind('mp4_support').playback_ids![0]!.id;
    expect((await fetchBytes(`${target.url}/${mp4}/capped-1080p.mp4`)).length).toBeGreaterThan(1000);
    for (const kind of ['audio only', 'clip', 'normalized audio', 'generated text'])
      await playAll(target.url, ofKind(kind).playback_ids![0]!.id);
  });

  test('accepts the tokens of an imported signing key', async () => {
    const playbackId = ofKind('signed with text and audio').playback_ids![0]!.id;
    const address = `${target.url}/${playbackId}.m3u8?token=${playbackToken(key, playbackId, 'v')}`;
    expect((await fetch(address)).status).toBe(403);
    const file = join(folder, 'key');
    writeFileSync(file, key.keySecret);
    const run = await runCli(['import', 'signing-key', key.keyId, file, '--data-dir', target.dataDir]);
    expect(run).toMatchObject({ status: 0, stdout: `Tokens signed with ${key.keyId} are accepted in Default.\n` });
    expect((await fetch(address)).status).toBe(200);
  });

  test('tells receivers of events as an ordinary asset does', async () => {
    const types = (await eventsOf(target, ofKind('public').id)).map(({ type }) => type);
    expect(types).toEqual(expect.arrayContaining(['video.asset.created', 'video.asset.ready']));
    expect(types.filter((type) => type === 'video.asset.created')).toHaveLength(1);
  });

  test('does nothing twice, and does not bring back what was deleted here', async () => {
    const gone = ofKind('both policies').id;
    await api(target, 'DELETE', `/video/v1/assets/${gone}`);
    const before = await list(target);
    const outcomes = outcomesOf(await importAll());
    expect(outcomes[gone]).toEqual({
      outcome: 'present',
      notes: ['It was imported before, and deleted here since.'],
    });
    expect(outcomes[ofKind('public').id]).toEqual({ outcome: 'present', notes: [] });
    expect((await list(target)).map(({ id }) => id)).toEqual(before.map(({ id }) => id));
  });
});

describe('an import with obstacles', () => {
  let other: Booted;
  beforeAll(async () => {
    other = await boot();
  });
  afterAll(() => other?.stop());

  const borrowedOf = async ({ id }: WireAsset) => {
    const { master_access, playback_ids = [] } = await getAsset(source, id);
    return { master_access, playback_ids };
  };

  test('that is stopped at once leaves temporary access, and the next one removes it', async () => {
    const asset = ofKind('no playback ID, with text');
    const before = await borrowedOf(asset);
    const end = new AbortController();
    let release!: () => void;
    // The text is one of the files, so the import cannot end.
    proxy.held = new Promise((resolve) => {
      release = resolve;
    });
    const stopped = importAll({ assetIds: [asset.id], signal: end.signal }, other);
    const outcome = stopped.catch((error: { code: string }) => error.code);
    await until('a temporary playback ID', async () => (await borrowedOf(asset)).playback_ids.length > 0);
    end.abort();
    expect(await outcome).toBe('cancelled');
    expect(await borrowedOf(asset)).toMatchObject({ master_access: 'temporary', playback_ids: [{ policy: 'public' }] });
    proxy.held = undefined;
    release();
    const report = await importAll({ assetIds: [asset.id] }, other);
    expect(report.assets).toMatchObject([{ outcome: 'imported', notes: [] }]);
    expect(await borrowedOf(asset)).toEqual(before);
    expect(kept(await getAsset(other, asset.id))).toEqual(kept(asset));
  });

  test('from a source that fails, limits and cuts off has all of it', async () => {
    const asset = ofKind('signed with text and audio');
    proxy.isFlaky = true;
    const report = await importAll({ assetIds: [asset.id] }, other);
    proxy.isFlaky = false;
    expect(report.assets).toMatchObject([{ outcome: 'imported', notes: [] }]);
    for (const [kind, count] of Object.entries(proxy.failed)) expect(count, kind).toBeGreaterThan(0);
    expect(kept(await getAsset(other, asset.id))).toEqual(kept(asset));
    expect((await borrowedOf(asset)).playback_ids).toEqual(asset.playback_ids);
  });

  test('refuses an ID that another asset here has', async () => {
    const asset = ofKind('video only');
    const { signal } = new AbortController();
    await importAll({ assetIds: [asset.id] }, other);
    // The same asset from another URL is another source's.
    const opened = await openImport({
      ...{ sourceUrl: source.url, tokenId: source.token.id, tokenSecret: source.token.secret },
      ...{ ratePerSecond: 1000, dataDir: other.dataDir, signal, onWait: () => undefined },
    });
    const order = { environmentId: opened.environmentId, sourceUrl: source.url, id: asset.id, url: files.url };
    const rest = { createdAtSeconds: 0, playbackIds: [], mainTracks: {}, mainAudio: {}, tracks: [], renditions: [] };
    await expect(opened.server('import asset', { ...order, ...rest, settings: {} as never })).rejects.toMatchObject({
      code: 'conflict',
    });
    await expect(
      opened.server('import asset', { ...order, ...rest, id: '../x', settings: {} as never }),
    ).rejects.toMatchObject({ code: 'invalid_parameters' });
  });

  test('says which credentials it needs', async () => {
    const args = ['import', 'mux', '--source-url', proxy.url, '--data-dir', other.dataDir];
    const missing = await runCli(args, { MUX_TOKEN_ID: 'x' });
    expect(missing).toMatchObject({ status: 2, stderr: expect.stringContaining('MUX_TOKEN_SECRET is not set.') });
    const wrong = await runCli(args, { MUX_TOKEN_ID: source.token.id, MUX_TOKEN_SECRET: 'guessed' });
    expect(wrong).toMatchObject({ status: 1, stderr: expect.stringContaining('rejects the access token') });
    expect(wrong.stderr).not.toContain('guessed');
    const elsewhere = await runCli([...args, '--data-dir', folder], { MUX_TOKEN_ID: 'x', MUX_TOKEN_SECRET: 'y' });
    expect(elsewhere).toMatchObject({ status: 1, stderr: expect.stringContaining('is not running') });
  });
});

/** The asset here once its renditions are made. */
const settledRenditions = async (id: string): Promise<WireAsset> => {
  for (;;) {
    const asset = await getAsset(target, id);
    const { status, files: made = [] } = (asset.static_renditions ?? {}) as {
      status?: string;
      files?: { status?: string }[];
    };
    if (status !== 'preparing' && made.every((file) => file.status !== 'preparing')) return asset;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
};
