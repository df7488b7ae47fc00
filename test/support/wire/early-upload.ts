import { createHash } from 'node:crypto';
import { until } from '../servers/server-process.js';
import { api } from './create-asset.js';
import { askStatus, sendChunk, type WireUpload } from './uploading.js';

interface Server {
  readonly url: string;
  readonly token: { readonly id: string; readonly secret: string };
}

export const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Uploads that may play before they are complete, at the server that `current` returns. */
export const earlyUploads = (current: () => Server) => {
  const read = async (id: string): Promise<WireUpload> =>
    ((await (await api(current(), 'GET', `/video/v1/uploads/${id}`)).json()) as { data: WireUpload }).data;
  const get = (path: string): Promise<Response> => fetch(`${current().url}/${path}`);
  return {
    read,
    get,
    create: async (settings: object = {}, fields: object = {}): Promise<WireUpload> => {
      const body = { new_asset_settings: { playback_policies: ['public'], ...settings }, ...fields };
      return ((await (await api(current(), 'POST', '/video/v1/uploads', body)).json()) as { data: WireUpload }).data;
    },
    /** The playback ID of an upload that plays. */
    untilPlayable: async (id: string): Promise<string> => {
      let upload: WireUpload | undefined;
      await until('the upload plays', async () => {
        upload = await read(id);
        return upload.early_playback_ids !== undefined;
      });
      const playbackId = upload!.early_playback_ids![0]!.id;
      await until('its playlist is there', async () => (await get(`${playbackId}.m3u8`)).status === 200);
      return playbackId;
    },
    /** Paths of the segments of the first rendition. */
    segmentsOf: async (playbackId: string): Promise<string[]> => {
      const listed = (await (await get(`${playbackId}.m3u8`)).text())
        .split('\n')
        .find((line) => line.includes('/playlist.m3u8') && !line.startsWith('#'))!;
      const base = listed.slice(0, listed.lastIndexOf('/'));
      const playlist = await (await get(listed)).text();
      return playlist.split('\n').flatMap((line) => (line.endsWith('.m4s') ? [`${base}/${line}`] : []));
    },
    digestOf: async (path: string): Promise<string> => digest(new Uint8Array(await (await get(path)).arrayBuffer())),
    /** Sends what the server does not have; the last byte completes the upload. */
    sendRest: async (id: string, bytes: Buffer): Promise<void> => {
      const { url } = await read(id);
      const range = (await askStatus(url!, bytes.length)).headers.get('range');
      const start = range === null ? 0 : Number(/-(\d+)$/.exec(range)![1]) + 1;
      const { status } = await sendChunk(url!, bytes, start, bytes.length);
      if (status !== 200) throw new Error(`the rest was answered with ${status}`);
    },
  };
};
