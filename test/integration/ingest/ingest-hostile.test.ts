import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hurriedClock } from '../../support/hurried-clock.js';
import { fixture } from '../../support/media/fixtures.js';
import { memoryLogger } from '../../support/memory-logger.js';
import { playAll } from '../../support/players/play.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { processesNaming } from '../../support/servers/server-process.js';
import { type SlowOrigin, startSlowOrigin } from '../../support/servers/slow-origin.js';
import { api, createAsset, settled } from '../../support/wire/create-asset.js';
import { withTracks } from '../../support/wire/tracks.js';

const INTERNAL = {
  type: 'internal_error',
  messages: ['The asset could not be processed.', 'The media process crashed or did not finish on this file.'],
};

let server: Booted;
let origin: SlowOrigin;
const logger = memoryLogger();
beforeAll(async () => {
  origin = await startSlowOrigin();
  server = await boot({
    logger,
    clock: hurriedClock(),
    options: { MEDIA_MEMORY: '512MiB', MEDIA_PROCESSES: '2', INGEST_CONCURRENCY: '5' },
    mediaProcesses: {
      entryUrl: new URL('../../support/processes/hostile-engine.mjs', import.meta.url),
      deadlinesMs: { probe: 3000, sanity: 3000 },
    },
  });
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
});

/** A good file with an order for the media process at its end. */
const create = async (order: string) => {
  const bytes = await readFile(await fixture('h264-mp3.mkv'));
  const name = `${order.replaceAll(':', '-')}.mkv`;
  const url = origin.add(name, Buffer.concat([bytes, Buffer.from(order)]));
  return createAsset(server, { inputs: [{ url }], playback_policies: ['public'] });
};

const crashesOf = (assetId: string, message: string): number =>
  logger.lines.filter((line) => line.message === message && line.fields.asset_id === assetId).length;

describe('a file that takes the media process down', () => {
  it('ends its asset after a bounded number of tries while another one is made and played', async () => {
    const hostile = await Promise.all(
      ['probe:crash', 'probe:hang', 'index:memory', 'sanity:wait'].map((deed) => create(`hostile:${deed}`)),
    );
    const good = await create('good');
    const { status, playback_ids: ids } = await settled(server, good.id);
    expect(status).toBe('ready');
    expect(Object.keys(await playAll(server.url, ids![0]!.id)).length).toBeGreaterThan(3);
    for (const { id } of hostile) {
      const asset = await settled(server, id);
      expect(asset).toMatchObject({ status: 'errored', progress: { state: 'errored', progress: -1 } });
      expect(asset.errors).toEqual(INTERNAL);
      expect(crashesOf(id, 'ingest started')).toBe(2);
      expect(crashesOf(id, 'ingest failed')).toBe(1);
    }
    // Two runs of two tries for each; what runs out of memory says so itself and is tried once a
    // run.
    expect(logger.lines.filter(({ message }) => message === 'media process exited before its job ended')).toHaveLength(
      12,
    );
    expect(processesNaming(server.dataDir).length).toBeGreaterThan(0);
  });

  it('plays from a mezzanine when only its segments do so', async () => {
    const { id } = await create('hostile:video-segment:crash');
    const asset = await settled(server, id);
    expect(asset).toMatchObject({ status: 'ready' });
    expect(Object.keys(await playAll(server.url, asset.playback_ids![0]!.id)).length).toBeGreaterThan(3);
  });

  it('errors its track alone, after a bounded number of tries, when it is alternate audio', async () => {
    const bytes = await readFile(await fixture('h264-mp3.mkv'));
    const dubs = ['probe:crash', 'audio-chunk:crash'].map((deed) => ({
      url: origin.add(`dub-${deed.replace(':', '-')}.mkv`, Buffer.concat([bytes, Buffer.from(`hostile:${deed}`)])),
      type: 'audio',
      language_code: 'fr',
    }));
    const main = origin.add('main.mkv', bytes);
    const { id } = await createAsset(server, { inputs: [{ url: main }, ...dubs], playback_policies: ['public'] });
    const asset = await withTracks(server, await settled(server, id), 120_000);
    expect(asset.status).toBe('ready');
    const [, ...further] = asset.tracks!.filter(({ type }) => type === 'audio');
    expect(further.map(({ status }) => status)).toEqual(['errored', 'errored']);
    for (const track of further) {
      const response = await api(server, 'GET', `/system/v1/events?object_id=${track.id}`);
      const { data } = (await response.json()) as { data: { data: { error?: { type: string } } }[] };
      expect(data[0]!.data.error?.type).toBe('internal_error');
    }
    expect(Object.keys(await playAll(server.url, asset.playback_ids![0]!.id)).length).toBeGreaterThan(3);
  });
});
