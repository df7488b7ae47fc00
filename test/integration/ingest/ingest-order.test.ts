import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { until } from '../../support/servers/server-process.js';
import { type SlowOrigin, startSlowOrigin } from '../../support/servers/slow-origin.js';
import { api, createAsset, getAsset, settled } from '../../support/wire/create-asset.js';

let server: Booted;
let origin: SlowOrigin;
beforeAll(async () => {
  origin = await startSlowOrigin();
  server = await boot({
    options: { INGEST_CONCURRENCY: '1', MEDIA_PROCESSES: '2', METRICS_PORT: '0' },
    mediaProcesses: { entryUrl: new URL('../../support/processes/hostile-engine.mjs', import.meta.url) },
  });
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
});

const create = async (url: string) => (await createAsset(server, { inputs: [{ url }] })).id;
/** What probing found of the inputs of an asset. */
const getInputInfo = async (id: string) => {
  const response = await api(server, 'GET', `/video/v1/assets/${id}/input-info`);
  return ((await response.json()) as { data: { file?: unknown }[] }).data;
};

/** Noise of so many seconds: 8 bit, mono. */
const wav = (seconds: number): Buffer => {
  const rate = 8000;
  const header = Buffer.alloc(44);
  header.write('RIFF....WAVEfmt ', 0, 'latin1');
  header.writeUInt32LE(header.length - 8 + seconds * rate, 4);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(seconds * rate, 40);
  const samples = Buffer.from(Array.from({ length: seconds * rate }, (_, k) => (k * 7919) % 251));
  return Buffer.concat([header, samples]);
};

/**
 * Jobs that a new asset would wait for: queued or active ones of the queue where every ingest
 * begins.
 */
const jobsBefore = async (): Promise<number> => {
  const series = await (await fetch(server.metricsUrl!)).text();
  return [...series.matchAll(/^kinora_jobs\{queue="ingest",[^}]*\} (\d+)$/gm)].reduce(
    (sum, [, n]) => sum + Number(n),
    0,
  );
};

let made = 0;
const createStandard = async () => {
  made += 1;
  return create(origin.add(`standard-${made}.mp4`, await readFile(await fixture('h264-aac.mp4'))));
};

it('an asset is made while another one is transcoded without end', async () => {
  const bytes = Buffer.concat([await readFile(await fixture('animation.gif')), Buffer.from('hostile:mezzanine:hang')]);
  const long = [await create(origin.add('a.gif', bytes)), await create(origin.add('b.gif', bytes))];
  const states = async () => Promise.all(long.map(async (id) => (await getAsset(server, id)).progress.state));
  await until('one is transcoded', async () => (await states()).includes('transcoding'));
  await until('no job is left before a new one', async () => (await jobsBefore()) === 0);
  expect((await settled(server, await createStandard())).status).toBe('ready');
  for (const id of long) expect((await getAsset(server, id)).status).toBe('preparing');
});

it('an asset is made while the loudness of others is measured without end', async () => {
  const bytes = Buffer.concat([wav(6 * 60), Buffer.from('hostile:loudness:hang')]);
  const long = await Promise.all(
    ['a.wav', 'b.wav'].map(async (name) => {
      const inputs = [{ url: origin.add(name, bytes) }];
      return (await createAsset(server, { inputs, normalize_audio: true })).id;
    }),
  );
  // The second one would not be probed while the first one held the only place.
  const areProbed = async () => {
    const infos = await Promise.all(long.map((id) => getInputInfo(id)));
    return infos.every(([input]) => input?.file !== undefined);
  };
  await until('both are probed', areProbed);
  await until('no job is left before a new one', async () => (await jobsBefore()) === 0);
  expect((await settled(server, await createStandard())).status).toBe('ready');
  for (const id of long) expect((await getAsset(server, id)).status).toBe('preparing');
});

it('an asset is made while the downloads of others stand still', async () => {
  const bytes = await readFile(await fixture('long.mp4'));
  const held = ['c.mp4', 'd.mp4', 'e.mp4'];
  const ids = await Promise.all(held.map((name) => create(origin.add(name, bytes, 1000))));
  await until('all are downloaded', () => held.every((name) => origin.requestsOf(name).length > 0));
  // Downloads stay in the queue, in places of their own.
  expect(await jobsBefore()).toBe(held.length);
  expect((await settled(server, await createStandard())).status).toBe('ready');
  for (const id of ids) expect((await getAsset(server, id)).status).toBe('preparing');
  origin.release();
  for (const id of ids) expect((await settled(server, id)).status).toBe('ready');
});
