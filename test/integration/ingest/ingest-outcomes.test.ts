import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { type Origin, startOrigin } from '../../support/servers/origin.js';
import {
  cleanUpServers,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { paddedMp4, type SlowOrigin, startSlowOrigin } from '../../support/servers/slow-origin.js';
import { createAsset, getAsset, settled, type WireAsset } from '../../support/wire/create-asset.js';
import { expectStoryboardAt } from '../../support/wire/storyboard.js';

const MIB = 2 ** 20;

const IMAGE_URL = 'https://images.example';

let server: ServerProcess;
let files: SlowOrigin;
let statuses: Origin;
beforeAll(async () => {
  files = await startSlowOrigin();
  statuses = await startOrigin((request, response) => {
    const status = Number(request.url?.slice(1));
    // 302: to an address that is refused.
    const headers = {
      'content-type': 'text/html',
      ...(status === 302 && { location: 'http://169.254.169.254/latest' }),
    };
    response.writeHead(status, headers).end('<!doctype html><title>Sign in</title>');
  });
  server = await startServer({
    dataDir: makeDataDir(),
    options: { ALLOW_PRIVATE_SOURCES: '127.0.0.1/32', MAX_SOURCE_SIZE: '4MiB', INGEST_CONCURRENCY: '16', IMAGE_URL },
  });
});
afterAll(async () => {
  await cleanUpServers();
  await files?.stop();
  await statuses?.stop();
});

const create = (url: string): Promise<WireAsset> =>
  createAsset(server, { inputs: [{ url }], playback_policies: ['public'] });

/** An MP4 in which zeros stand in place of frames and audio. */
const withoutData = (bytes: Buffer): Buffer => {
  const at = bytes.indexOf('mdat', 0, 'latin1');
  const changed = Buffer.from(bytes);
  return changed.fill(0, at + 4, at - 4 + bytes.readUInt32BE(at - 4));
};

const NOT_DOWNLOADED = 'The input file could not be downloaded';
const NOT_ALLOWED = 'The input URL is not allowed.';
const NOT_VIDEO = 'The input file is not a valid video file.';

describe('an input that cannot be used', () => {
  it('ends the asset with the exact reason, in bounded time', async () => {
    const expected: Record<string, string> = {
      'http://127.0.0.1:1/nobody.mp4': `${NOT_DOWNLOADED}: connection refused.`,
      'http://no-such-host.invalid/a.mp4': `${NOT_DOWNLOADED}: host not found.`,
      [`${statuses.url}/404`]: `${NOT_DOWNLOADED}: HTTP status 404.`,
      [`${statuses.url}/403`]: `${NOT_DOWNLOADED}: HTTP status 403.`,
      [`${statuses.url}/500`]: `${NOT_DOWNLOADED}: HTTP status 500.`,
      [`${statuses.url}/302`]: NOT_ALLOWED,
      'http://10.1.2.3/private.mp4': NOT_ALLOWED,
      'http://127.0.0.2/private.mp4': NOT_ALLOWED,
      'http://user:hidden-password@192.168.0.1/a.mp4?signature=hidden-signature': NOT_ALLOWED,
      [files.add('large.mp4', await paddedMp4(await fixture('h264-aac.mp4'), 5 * MIB))]:
        'The input file is larger than the maximum size of 4 MiB.',
      [files.add('empty.mp4', Buffer.alloc(0))]: 'The input file is empty.',
      [files.add('text.mp4', await readFile(await fixture('text.mp4')))]: NOT_VIDEO,
      [files.add('garbage.mp4', await readFile(await fixture('garbage.mp4')))]: NOT_VIDEO,
      [files.add('no-index.mov', await readFile(await fixture('truncated-without-index.mov')))]:
        'The file is damaged: its index (the moov box) is missing or cut off.',
      [files.add('short.ts', (await readFile(await fixture('h264-aac.ts'))).subarray(0, 300))]:
        'The file is damaged: it ends within its header.',
      [files.add('no-data.mp4', withoutData(await readFile(await fixture('h264-aac.mp4'))))]:
        'The file is damaged: nothing can be decoded at its start, in its middle and at its end.',
      [files.add('image.png', await readFile(await fixture('image.png')))]:
        'The file format png_pipe is not supported.',
      [files.add('unknown.mp4', await readFile(await fixture('unknown-codec.mp4')))]:
        'The video codec zzzz is not supported.',
    };
    const created = await Promise.all(Object.keys(expected).map(create));
    for (const asset of created)
      expect(asset).toMatchObject({ status: 'preparing', progress: { state: 'ingesting', progress: 0 } });
    for (const [index, message] of Object.values(expected).entries()) {
      const asset = await settled(server, created[index]!.id);
      expect(asset.errors, Object.keys(expected)[index]).toEqual({ type: 'invalid_input', messages: [message] });
      expect(asset).toMatchObject({ status: 'errored', progress: { state: 'errored', progress: -1 } });
      expect(asset).not.toHaveProperty('duration');
      expect(asset).not.toHaveProperty('tracks');
      const playback = await fetch(`${server.url}/${asset.playback_ids![0]!.id}.m3u8`);
      expect(playback.status).toBe(412);
    }
    // The log has one line for each, which is short unless FFmpeg has more to say.
    const failures = () => server.log().filter(({ msg }) => msg === 'ingest failed' || msg === 'The job failed');
    await until('all are logged', () => failures().length >= created.length);
    expect(
      failures()
        .map((line) => line.asset_id)
        .sort(),
    ).toEqual(created.map(({ id }) => id).sort());
    for (const [index, message] of Object.values(expected).entries()) {
      if (message !== NOT_ALLOWED && !message.startsWith(NOT_DOWNLOADED)) continue;
      const line = failures().find((failure) => failure.asset_id === created[index]!.id)!;
      expect(JSON.stringify(line).length, message).toBeLessThan(800);
      expect(line.reason).toContain(message);
      if (message === NOT_ALLOWED) expect(line.reason).toContain('--allow-private-sources');
    }
    const page = await create(`${statuses.url}/200`);
    expect((await settled(server, page.id)).errors).toEqual({
      type: 'invalid_input',
      messages: [NOT_VIDEO, 'The server sent a web page (text/html).'],
    });
    // A refusal is asked for once, what may pass three times.
    const asked = (path: string) => statuses.requests.filter(({ url }) => url === path).length;
    expect([asked('/404'), asked('/403'), asked('/302'), asked('/500')]).toEqual([1, 1, 1, 3]);
  });
});

/**
 * Every state that the API showed, without repetition, from the creation of an asset until it was
 * settled.
 */
const watchProgress = async ({ id, progress: first }: WireAsset): Promise<WireAsset['progress'][]> => {
  const seen = [first];
  for (;;) {
    const { status, progress } = await getAsset(server, id);
    const last = seen.at(-1);
    if (last?.state !== progress.state || last.progress !== progress.progress) seen.push(progress);
    if (status !== 'preparing') return seen;
    await delay(10);
  }
};

describe('progress', () => {
  it('stays at ingesting 0 until a standard input is complete', async () => {
    const asset = await create(files.add('standard.mp4', await readFile(await fixture('h264-aac.mp4'))));
    expect(await watchProgress(asset)).toEqual([
      { state: 'ingesting', progress: 0 },
      { state: 'completed', progress: 100 },
    ]);
    await expectStoryboardAt(server, asset.playback_ids![0]!.id, IMAGE_URL);
  });

  it('rises while the frames are transcoded', async () => {
    const url = files.add('one-key-frame.mp4', await readFile(await fixture('one-key-frame.mp4')));
    const order = ['ingesting', 'transcoding', 'ingesting', 'completed'];
    // Requests can miss a short state of one asset, but not of each.
    const hasSeenAll = async (): Promise<boolean> => {
      const asset = await create(url);
      const seen = await watchProgress(asset);
      const states = seen.map(({ state }) => state).filter((state, at, all) => state !== all[at - 1]);
      expect([order, ['ingesting', 'transcoding', 'completed'], ['ingesting', 'completed']]).toContainEqual(states);
      const percents = seen.filter(({ state }) => state === 'transcoding').map(({ progress }) => progress);
      expect(percents).toEqual([...percents].sort((a, b) => a - b));
      for (const percent of percents) expect(percent).toBeLessThanOrEqual(100);
      const { non_standard_input_reasons: reasons } = await getAsset(server, asset.id);
      expect(reasons).toEqual({ video_gop_size: 'high' });
      return states.length === order.length && percents.length > 3;
    };
    await until('every state is seen', hasSeenAll);
  });
});

describe('the log', () => {
  const linesOf = (assetId: string) => server.log().filter((line) => line.asset_id === assetId);

  it('tells the life of an asset in a line each, and no secret', async () => {
    const source = new URL(files.add('logged.mp4', await readFile(await fixture('h264-aac.mp4'))));
    source.username = 'user';
    source.password = 'hidden-password';
    const { id } = await create(`${source.href}?signature=hidden-signature`);
    await settled(server, id);
    // The line follows the state.
    await until('the line is written', () => linesOf(id).some(({ msg }) => msg === 'asset ready'));
    const messages = linesOf(id).map(({ msg }) => String(msg));
    // Whether it plays early is known while the file is stored.
    const isEarly = (message: string) => /early/.test(message);
    expect(messages.filter(isEarly)).toHaveLength(1);
    expect(messages.filter((message) => !isEarly(message))).toEqual([
      'ingest started',
      'source stored',
      'source probed',
      'asset planned',
      'asset ready',
    ]);
    const { token, url } = server;
    const page = await fetch(`${url}/no-such-id?token=hidden-token`);
    expect(page.status).toBe(404);
    for (const secret of [token.secret, 'hidden-password', 'hidden-signature', 'hidden-token'])
      expect(server.logText()).not.toContain(secret);
  });

  it('has no key twice in a line', () => {
    const lines = server.logText().trim().split('\n');
    expect(lines.length).toBeGreaterThan(20);
    for (const line of lines) {
      // Of a key that stands twice only the last value is left when it is written again.
      expect(JSON.stringify(JSON.parse(line))).toBe(line);
    }
  });
});
