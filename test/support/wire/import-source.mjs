// Fills a server with assets of every kind that an import meets.

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

const VTT = 'WEBVTT\n\n00:00.200 --> 00:01.000\nfirst\n\n00:01.000 --> 00:01.900\nsecond\n';
const SRT = '1\n00:00:00,200 --> 00:00:01,000\n<b>one</b>\n\n2\n00:00:01,000 --> 00:00:01,800\ntwo\n';

/** Serves the given files by name, and subtitles. */
export const serveSources = async (paths) => {
  const files = { 'text.vtt': Buffer.from(VTT), 'text.srt': Buffer.from(SRT), 'broken.mp4': Buffer.from('no video') };
  for (const [name, path] of Object.entries(paths)) files[name] = await readFile(path);
  const server = createServer((request, response) => {
    const bytes = files[request.url.slice(1)];
    if (!bytes) return response.writeHead(404).end();
    response.writeHead(200, { 'content-length': bytes.length, etag: '"v1"' }).end(bytes);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    stop: () => new Promise((resolve) => server.close(resolve).closeAllConnections()),
  };
};

/**
 * The requests of one asset of each kind. `files` is the base URL of `serveSources`.
 */
const kindsOf = (files, { drmConfigurationId, clippedId }) => {
  const video = { url: `${files}/video.mp4` };
  const french = { url: `${files}/text.vtt`, type: 'text', text_type: 'subtitles', language_code: 'fr' };
  const german = { url: `${files}/text.srt`, type: 'text', text_type: 'subtitles', language_code: 'de' };
  const audio = { url: `${files}/audio.m4a`, type: 'audio', language_code: 'es', name: 'Español' };
  return {
    public: {
      inputs: [{ ...video, name: 'Original', language_code: 'en' }],
      playback_policies: ['public'],
      passthrough: 'order-81',
      meta: { title: 'Harbor walk', creator_id: 'c-1', external_id: 'x-1' },
    },
    'signed with text': {
      inputs: [video, { ...french, name: 'Français', closed_captions: true, passthrough: 'cms-9' }],
      playback_policies: ['signed'],
      meta: { title: 'Only the title' },
    },
    'public with text and audio': { inputs: [video, french, german, audio], playback_policies: ['public'] },
    'signed with text and audio': { inputs: [video, french, audio], playback_policies: ['signed'] },
    'no playback ID, with text': { inputs: [video, german] },
    'both policies': { inputs: [video], playback_policies: ['public', 'signed', 'public'] },
    'static renditions': {
      inputs: [video],
      playback_policies: ['signed'],
      static_renditions: [
        { resolution: 'highest', passthrough: 'r-1' },
        { resolution: 'audio-only' },
        { resolution: '1080p' },
      ],
    },
    mp4_support: { inputs: [video], playback_policies: ['public'], mp4_support: 'capped-1080p' },
    'audio only': {
      inputs: [{ url: `${files}/audio.m4a` }],
      playback_policies: ['public'],
      static_renditions: [{ resolution: 'audio-only' }],
    },
    'video only': { inputs: [{ url: `${files}/silent.mp4` }], playback_policies: ['signed'] },
    'normalized audio': { inputs: [video], playback_policies: ['public'], normalize_audio: true },
    'master access': { inputs: [video], playback_policies: ['public'], master_access: 'temporary' },
    'quality and tier': {
      inputs: [video],
      playback_policies: ['public'],
      video_quality: 'plus',
      max_resolution_tier: '2160p',
    },
    'generated text': {
      inputs: [{ ...video, generated_subtitles: [{ language_code: 'en', name: 'English CC' }] }],
      playback_policies: ['public'],
    },
    shots: { inputs: [video], playback_policies: ['public'], generate_shots: true },
    'test asset': { inputs: [video], playback_policies: ['public'], test: true },
    'failed text': {
      inputs: [video, { ...french, url: `${files}/missing.vtt` }, german],
      playback_policies: ['public'],
    },
    'failed asset': { inputs: [{ url: `${files}/broken.mp4` }], playback_policies: ['public'] },
    ...(clippedId && {
      clip: {
        inputs: [{ url: `mux://assets/${clippedId}`, start_time: 0.5, end_time: 1.5 }],
        playback_policies: ['public'],
      },
    }),
    ...(drmConfigurationId && {
      drm: {
        inputs: [video],
        video_quality: 'plus',
        advanced_playback_policies: [{ policy: 'drm', drm_configuration_id: drmConfigurationId }, { policy: 'public' }],
      },
    }),
  };
};

/**
 * Creates `count` assets in turns of all kinds, and waits until all of their work has ended.
 * Returns the assets as the server shows them, with their kinds.
 */
export const fillSource = async (server, files, { count, drmConfigurationId }) => {
  const authorization = `Basic ${Buffer.from(`${server.token.id}:${server.token.secret}`).toString('base64')}`;
  const call = async (method, path, body) => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { authorization, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.status === 204 ? undefined : (await response.json()).data;
  };
  const isBusy = ({ status, tracks = [], master, static_renditions: renditions, shots }) =>
    status === 'preparing' ||
    tracks.some((track) => track.status === 'preparing') ||
    master?.status === 'preparing' ||
    renditions?.status === 'preparing' ||
    renditions?.files?.some((file) => file.status === 'preparing') ||
    shots?.status === 'pending';
  const settle = async (id) => {
    for (;;) {
      const asset = await call('GET', `/video/v1/assets/${id}`);
      if (!isBusy(asset)) return asset;
      await delay(100);
    }
  };
  const first = await call('POST', '/video/v1/assets', kindsOf(files, {}).public);
  await settle(first.id);
  const kinds = Object.entries(kindsOf(files, { drmConfigurationId, clippedId: first.id }));
  const made = [{ kind: 'public', id: first.id }];
  for (let index = 1; index < count; index += 1) {
    const [kind, body] = kinds[index % kinds.length];
    made.push({ kind, id: (await call('POST', '/video/v1/assets', body)).id });
  }
  const assets = [];
  for (const { kind, id } of made) assets.push({ kind, asset: await settle(id) });
  const shown = assets[0].asset;
  await call('PATCH', `/video/v1/assets/${shown.id}`, { thumbnail_time: 0.5 });
  assets[0].asset = await settle(shown.id);
  return assets;
};
