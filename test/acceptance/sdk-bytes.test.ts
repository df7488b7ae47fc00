import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture } from '../support/media/fixtures.js';
import { type Booted, boot } from '../support/servers/boot.js';
import type { Origin } from '../support/servers/origin.js';
import { until } from '../support/servers/server-process.js';
import { serveNamed } from '../support/servers/text-origin.js';
import { settled, type WireAsset } from '../support/wire/create-asset.js';
import { type SdkResource, sdkProblems } from '../support/wire/sdk-shapes.js';
import { sendBytes, type WireUpload } from '../support/wire/uploading.js';

/**
 * Requests byte for byte as the official SDKs for Go and PHP and the plugin for Strapi write them,
 * and answers as strictly as those SDKs read them.
 */
let server: Booted;
let origin: Origin;
let video: string;

beforeAll(async () => {
  video = await fixture('h264-aac.mp4');
  origin = await serveNamed({
    'video.mp4': { path: video },
    'video.mp4?a=1&b=2': { path: video },
    'fr.vtt': { text: 'WEBVTT\n\n00:01.000 --> 00:02.000\nBonjour\n' },
  });
  server = await boot();
});
afterAll(async () => {
  await server?.stop();
  await origin?.stop();
});

type Headers = Readonly<Record<string, string>>;

/** A client that sends `bytes` as they are, and fails on an answer that the SDK could not read. */
const client = (headers: Headers) => {
  const send = async <T>(
    [method, path, bytes]: readonly [method: string, path: string, bytes?: string],
    resource?: SdkResource,
  ): Promise<T> => {
    const { id, secret } = server.token;
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: {
        accept: 'application/json',
        authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
        ...(bytes !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(bytes !== undefined && { body: Buffer.from(bytes) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${response.status} ${text} to ${bytes}`);
    if (text === '') return undefined as T;
    // Go decodes JSON only from an answer that says so.
    expect(response.headers.get('content-type')).toContain('application/json');
    const { data } = JSON.parse(text) as { data: unknown };
    if (resource) expect([data].flat().flatMap((item) => sdkProblems(resource, item))).toEqual([]);
    return data as T;
  };
  /** Items of a list, each read as `resource`. */
  const list = async <T>(path: string, resource: SdkResource): Promise<T[]> => {
    const items = await send<T[]>(['GET', path], resource);
    expect(Array.isArray(items)).toBe(true);
    return items;
  };
  return { send, list };
};

/**
 * Go structs: fields in their order, empty ones left out but for structs, `&` escaped, a line feed
 * at the end.
 */
describe('the SDK for Go', () => {
  const { send, list } = client({ 'user-agent': 'Mux Go | 7.0.0' });

  it('makes an asset whose inputs all have empty overlay settings, reads it, and clips it', async () => {
    const bytes = `{"input":[{"url":"${origin.url}/video.mp4?a=1\\u0026b=2","overlay_settings":{}},{"url":"${origin.url}/fr.vtt","overlay_settings":{},"type":"text","text_type":"subtitles","language_code":"fr","name":"French"}],"playback_policy":["public"],"normalize_audio":true,"meta":{}}\n`;
    const { id } = await send<WireAsset>(['POST', '/video/v1/assets', bytes], 'asset');
    expect((await list<WireAsset>('/video/v1/assets', 'asset'))[0]!.id).toBe(id);
    expect((await settled(server, id)).errors).toBeUndefined();
    const path = `/video/v1/assets/${id}`;
    const asset = await send<WireAsset>(['GET', path], 'asset');
    expect(asset.tracks!.map(({ type, name }) => [type, name])).toEqual([
      ['video', undefined],
      ['audio', 'Default'],
      ['text', 'French'],
    ]);
    expect(await list(`${path}/input-info`, 'inputInfo')).toHaveLength(2);

    const clip = `{"input":[{"url":"mux://assets/${id}","overlay_settings":{},"end_time":5}],"meta":{}}\n`;
    expect(await send(['POST', '/video/v1/assets', clip], 'asset')).toMatchObject({ source_asset_id: id });

    const signed = await send<{ id: string }>(['POST', `${path}/playback-ids`, '{"policy":"signed"}\n'], 'playbackId');
    const track = `{"url":"${origin.url}/fr.vtt","type":"text","text_type":"subtitles","language_code":"fr","name":"Again"}\n`;
    const { id: trackId } = await send<{ id: string }>(['POST', `${path}/tracks`, track], 'track');
    expect((await send<WireAsset>(['GET', path], 'asset')).tracks).toHaveLength(4);
    await send(['DELETE', `${path}/tracks/${trackId}`]);
    expect((await send<WireAsset>(['GET', path], 'asset')).tracks).toHaveLength(3);
    await send(['DELETE', `${path}/playback-ids/${signed.id}`]);
    await send(['PUT', `${path}/master-access`, '{"master_access":"temporary"}\n'], 'asset');
    await send(['POST', `${path}/static-renditions`, '{"resolution":"audio-only"}\n'], 'staticRendition');
    await until('the file is made', async () => {
      const { files } = (await send<WireAsset>(['GET', path], 'asset')).static_renditions as {
        files: { status: string }[];
      };
      return files.every(({ status }) => status === 'ready');
    });
    await send(['DELETE', path]);
  });

  it('makes and cancels a direct upload', async () => {
    const bytes =
      '{"timeout":3600,"cors_origin":"*","new_asset_settings":{"inputs":[{"overlay_settings":{},"generated_subtitles":[{"name":"English","language_code":"en"}]}],"playback_policies":["public"],"meta":{}}}\n';
    const { id } = await send<WireUpload>(['POST', '/video/v1/uploads', bytes], 'upload');
    expect((await list<WireUpload>('/video/v1/uploads', 'upload'))[0]!.id).toBe(id);
    expect(await send(['PUT', `/video/v1/uploads/${id}/cancel`], 'upload')).toMatchObject({ status: 'cancelled' });
  });

  it('reads the uploads that others made with single values', async () => {
    const others = client({});
    const settings = [
      '{"playback_policy":"public"}',
      '{"playback_policies":"signed"}',
      '{"playback_policy":["public"],"input":[{"name":"Main"}]}',
      '{"inputs":[{}],"playback_policies":[]}',
    ];
    for (const one of settings)
      await others.send(['POST', '/video/v1/uploads', `{"cors_origin":"*","new_asset_settings":${one}}`], 'upload');
    const uploads = await list<WireUpload>('/video/v1/uploads?limit=4&page=1', 'upload');
    expect(uploads.map(({ new_asset_settings: given }) => given).slice(2)).toEqual([
      { playback_policies: ['signed'] },
      { playback_policy: ['public'] },
    ]);
    for (const { id } of uploads) await send(['GET', `/video/v1/uploads/${id}`], 'upload');
  });
});

/** PHP models: fields in their order, null ones left out, defaults written, `/` escaped. */
describe('the SDK for PHP', () => {
  const { send, list } = client({ 'user-agent': 'Mux PHP | 4.0.0' });
  const escaped = (path: string) => `${origin.url}/${path}`.replaceAll('/', '\\/');

  it('makes and changes an asset', async () => {
    const bytes = `{"input":[{"url":"${escaped('video.mp4')}"},{"url":"${escaped('fr.vtt')}","type":"text","text_type":"subtitles","language_code":"fr","name":"French","closed_captions":false}],"normalize_audio":false,"copy_overlays":true}`;
    const { id, playback_ids: none } = await send<WireAsset>(['POST', '/video/v1/assets', bytes], 'asset');
    expect(none).toBeUndefined();
    const path = `/video/v1/assets/${id}`;
    expect(await send(['PATCH', path, '{"passthrough":"Example"}'], 'asset')).toMatchObject({ passthrough: 'Example' });
    expect((await settled(server, id)).errors).toBeUndefined();
    expect((await list<WireAsset>('/video/v1/assets', 'asset')).map((asset) => asset.id)).toContain(id);
    const mp4 = await send<WireAsset>(['PUT', `${path}/mp4-support`, '{"mp4_support":"standard"}'], 'asset');
    expect(mp4.mp4_support).toBe('standard');
    await until('the files are made', async () => {
      const { status } = (await send<WireAsset>(['GET', path], 'asset')).static_renditions as { status: string };
      return status === 'ready';
    });
    await send(['DELETE', path]);
  });

  it('makes, lists and cancels a direct upload', async () => {
    const bytes =
      '{"timeout":3600,"cors_origin":"example.com","new_asset_settings":{"playback_policy":["public"],"normalize_audio":false,"copy_overlays":true}}';
    const { id } = await send<WireUpload>(['POST', '/video/v1/uploads', bytes], 'upload');
    expect((await list<WireUpload>('/video/v1/uploads', 'upload'))[0]!.id).toBe(id);
    expect(await send(['PUT', `/video/v1/uploads/${id}/cancel`], 'upload')).toMatchObject({ status: 'cancelled' });
  });
});

describe('the plugin for Strapi', () => {
  const { send } = client({ 'x-source-platform': 'Strapi CMS | 3.0.0' });
  const captions = () =>
    `{"type":"text","text_type":"subtitles","closed_captions":true,"language_code":"fr","name":"French (CC)","url":"${origin.url}/fr.vtt"}`;
  const generated =
    '{"generated_subtitles":[{"language_code":"en","name":"English (CC)","type":"text","text_type":"subtitles","closed_captions":true}]}';
  const settings = (input: string) =>
    `${input && `"input":[${input}],`}"playback_policy":["signed"],"mp4_support":"none","encoding_tier":"smart","max_resolution_tier":"1080p"`;
  const upload = async (input: string): Promise<WireAsset> => {
    const bytes = `{"cors_origin":"http://localhost:1337","new_asset_settings":{${settings(input)}}}`;
    const { id, url } = await send<WireUpload>(['POST', '/video/v1/uploads', bytes], 'upload');
    expect((await sendBytes(url!, await readFile(video))).status).toBe(200);
    const { asset_id: assetId } = await send<WireUpload>(['GET', `/video/v1/uploads/${id}`], 'upload');
    const asset = await settled(server, assetId!);
    expect(asset.errors).toBeUndefined();
    expect(asset).toMatchObject({ video_quality: 'plus', playback_ids: [{ policy: 'signed' }] });
    return asset;
  };
  const names = (asset: WireAsset) => asset.tracks!.map(({ name }) => name);

  it('uploads a file without captions', async () => {
    expect(names(await upload(''))).toEqual([undefined, 'Default']);
  });

  it('uploads a file with captions as the first input', async () => {
    expect(names(await upload(captions()))).toEqual([undefined, 'Default', 'French (CC)']);
  });

  it('uploads a file with captions that are generated and captions of its own', async () => {
    expect(names(await upload(`${generated},${captions()}`)).sort()).toEqual(
      [undefined, 'Default', 'English (CC)', 'French (CC)'].sort(),
    );
  });

  it('takes a file from a URL', async () => {
    const input = `${generated.replace('{', `{"url":"${origin.url}/video.mp4",`)},${captions()}`;
    const { id } = await send<WireAsset>(['POST', '/video/v1/assets', `{${settings(input)}}`], 'asset');
    const asset = await settled(server, id);
    expect(asset).toMatchObject({ status: 'ready', ingest_type: 'on_demand_url' });
    expect(names(asset)).toHaveLength(4);
  });
});
