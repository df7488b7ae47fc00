import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { type Booted, boot } from '../support/servers/boot.js';
import type { Origin } from '../support/servers/origin.js';
import { until } from '../support/servers/server-process.js';
import { serveNamed } from '../support/servers/text-origin.js';
import { settled, type WireAsset } from '../support/wire/create-asset.js';
import { createMuxCli, hasMuxCli } from '../support/wire/mux-cli.js';
import type { WireUpload } from '../support/wire/uploading.js';

interface Listed<T> {
  readonly data: readonly T[];
}
interface Rendition {
  readonly id: string;
  readonly status: string;
  readonly resolution: string;
}
interface Track {
  readonly id: string;
  readonly status: string;
}

describe.skipIf(!hasMuxCli())('the official command line', () => {
  let server: Booted;
  let origin: Origin;
  let mux: ReturnType<typeof createMuxCli>;
  let video: string;
  /** Made by `assets create --wait`. */
  let asset: WireAsset;

  beforeAll(async () => {
    video = await fixture('h264-aac.mp4');
    origin = await serveNamed({
      'video.mp4': { path: video },
      'en.vtt': { text: 'WEBVTT\n\n00:01.000 --> 00:02.000\nHello\n' },
    });
    server = await boot();
    mux = createMuxCli(server);
    asset = await mux.json<WireAsset>(
      ...['assets', 'create', '--url', `${origin.url}/video.mp4`, '-p', 'signed', '--passthrough', 'order-81'],
      ...['--video-quality', 'plus', '--static-renditions', 'highest', '--wait'],
    );
  });
  afterAll(async () => {
    mux?.remove();
    await server?.stop();
    await origin?.stop();
  });

  it('waits for an asset that it makes from a URL, lists it and reads it', async () => {
    expect(asset).toMatchObject({
      status: 'ready',
      passthrough: 'order-81',
      video_quality: 'plus',
      playback_ids: [{ policy: 'signed' }],
    });
    expect((await mux.json<Listed<WireAsset>>('assets', 'list')).data.map(({ id }) => id)).toContain(asset.id);
    expect(await mux.succeed(['assets', 'list', '--compact'])).toMatch(new RegExp(`^${asset.id}\\s+ready\\s`, 'm'));
    expect(await mux.json<WireAsset>('assets', 'get', asset.id)).toMatchObject({ id: asset.id, status: 'ready' });
    expect(await mux.json<unknown>('assets', 'input-info', asset.id)).toMatchObject([
      { settings: { url: `${origin.url}/video.mp4` }, file: { tracks: [{ type: 'video' }, { type: 'audio' }] } },
    ]);
    const changed = await mux.json<WireAsset>('assets', 'update', asset.id, '--title', 'Harbor walk');
    expect(changed).toMatchObject({ meta: { title: 'Harbor walk' }, passthrough: 'order-81' });
  });

  it('uploads a file and lists the upload', async () => {
    const [upload] = await mux.json<{ uploadId: string }[]>(
      ...['assets', 'create', '--upload', video, '-p', 'public', '--wait', '-y'],
    );
    const { data } = await mux.json<Listed<WireUpload>>('uploads', 'list');
    const listed = data.find(({ id }) => id === upload!.uploadId)!;
    expect(listed).toMatchObject({ status: 'asset_created', new_asset_settings: { playback_policies: ['public'] } });
    expect(await mux.json<WireUpload>('uploads', 'get', listed.id)).toEqual(listed);
    const made = await settled(server, listed.asset_id!);
    expect(made).toMatchObject({ status: 'ready', upload_id: listed.id, ingest_type: 'on_demand_direct_upload' });

    const waiting = await mux.json<WireUpload>('uploads', 'create', '--cors-origin', 'https://studio.example.org');
    expect(waiting).toMatchObject({ status: 'waiting', url: expect.stringContaining(`${server.url}/u/`) });
    expect(await mux.succeed(['uploads', 'cancel', waiting.id, '-f'])).toBeDefined();
    expect(await mux.json<WireUpload>('uploads', 'get', waiting.id)).toMatchObject({ status: 'cancelled' });
  });

  it('adds, generates and deletes tracks', async () => {
    const track = await mux.json<Track>(
      ...['assets', 'tracks', 'create', asset.id, '--url', `${origin.url}/en.vtt`, '--type', 'text'],
      ...['--text-type', 'subtitles', '--language-code', 'en', '--name', 'English', '--closed-captions'],
    );
    expect(track).toMatchObject({ status: 'preparing', name: 'English', closed_captions: true });
    const audio = asset.tracks!.find(({ type }) => type === 'audio')!;
    const [generated] = await mux.json<Track[]>(
      ...['assets', 'tracks', 'generate-subtitles', asset.id, audio.id as string, '--name', 'Generated'],
    );
    expect(generated).toMatchObject({ status: 'preparing', text_source: 'generated_vod', name: 'Generated' });
    const read = async () => (await mux.json<WireAsset>('assets', 'get', asset.id)).tracks!;
    await until('the file is ready', async () =>
      (await read()).some(({ id, status }) => id === track.id && status === 'ready'),
    );
    await mux.succeed(['assets', 'tracks', 'delete', asset.id, track.id, '-f']);
    expect((await read()).map(({ id }) => id)).not.toContain(track.id);
  });

  it('lists, makes and deletes static renditions', async () => {
    const list = () => mux.json<Rendition[]>('assets', 'static-renditions', 'list', asset.id);
    expect((await list()).map(({ resolution }) => resolution)).toEqual(['highest']);
    const made = await mux.json<Rendition>(
      ...['assets', 'static-renditions', 'create', asset.id, '-r', 'audio-only', '--wait'],
    );
    expect(made).toMatchObject({ status: 'ready', name: 'audio.m4a' });
    expect(await list()).toHaveLength(2);
    await mux.succeed(['assets', 'static-renditions', 'delete', asset.id, made.id, '-f']);
    expect((await list()).map(({ id }) => id)).not.toContain(made.id);
  });

  it('signs a playback ID with a key that it makes', async () => {
    const key = await mux.json<{ id: string; private_key: string }>('signing-keys', 'create');
    const keys = { MUX_SIGNING_KEY: key.id, MUX_PRIVATE_KEY: key.private_key };
    const { id } = asset.playback_ids![0]!;
    const token = (await mux.succeed(['sign', id, '--token-only'], keys)).trim();
    expect((await fetch(`${server.url}/${id}.m3u8`)).status).toBe(403);
    expect((await fetch(`${server.url}/${id}.m3u8?token=${token}`)).status).toBe(200);
    const still = (await mux.succeed(['sign', id, '--type', 'thumbnail', '--token-only'], keys)).trim();
    expect((await fetch(`${server.url}/${id}/thumbnail.png?token=${still}`)).status).toBe(200);
    await mux.succeed(['signing-keys', 'delete', key.id, '-f']);
    expect((await mux.json<Listed<{ id: string }>>('signing-keys', 'list')).data.map((one) => one.id)).not.toContain(
      key.id,
    );
  });

  it('shows who it is, and what the server refuses', async () => {
    expect(await mux.json<object>('whoami')).toMatchObject({ access_token_name: 'Configured token' });
    const refused = await mux.run(['assets', 'get', 'unknown', '--json']);
    expect(refused.status).toBe(1);
    expect(JSON.parse(refused.stdout || refused.stderr)).toMatchObject({ error: expect.stringContaining('not_found') });
    const other = await mux.run(['whoami', '--json'], { MUX_TOKEN_SECRET: 'wrong' });
    expect(other).toMatchObject({ status: 1 });
  });

  it('deletes an asset', async () => {
    await mux.succeed(['assets', 'delete', asset.id, '-f']);
    expect((await mux.json<Listed<WireAsset>>('assets', 'list')).data.map(({ id }) => id)).not.toContain(asset.id);
  });
});
