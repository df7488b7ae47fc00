import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FixtureName, fixture } from '../../support/media/fixtures.js';
import { playAll } from '../../support/players/play.js';
import {
  cleanUpServers,
  makeDataDir,
  type ServerProcess,
  startServer,
  until,
} from '../../support/servers/server-process.js';
import { earlyPlaybackOf, settled } from '../../support/wire/create-asset.js';
import { earlyUploads } from '../../support/wire/early-upload.js';
import { openRequest, sendChunk } from '../../support/wire/uploading.js';

const dataDir = makeDataDir();
const options = { LOG_LEVEL: 'debug' };
let server: ServerProcess;
beforeAll(async () => {
  server = await startServer({ dataDir, options });
});
afterAll(cleanUpServers);

const { create, read, get, untilPlayable, sendRest, digestOf } = earlyUploads(() => server);

/** The text of every media playlist of a playback ID, by path. */
const playlistsOf = async (playbackId: string): Promise<Map<string, string>> => {
  const multivariant = await (await get(`${playbackId}.m3u8`)).text();
  const paths = new Set([...multivariant.matchAll(/[^"\n]+\/playlist\.m3u8/g)].map(([path]) => path));
  const texts = [...paths].map(async (path) => [path, await (await get(path)).text()] as const);
  return new Map(await Promise.all(texts));
};
const linesOf = (text: string): string[] => text.trimEnd().split('\n');
/**
 * The digests of the init files and segments that playlists list, by path below the playback ID.
 */
const filesIn = async (playlists: Map<string, string>): Promise<Record<string, string>> => {
  const paths = [...playlists].flatMap(([path, text]) => {
    const base = path.slice(0, path.lastIndexOf('/'));
    return [`${base}/init.mp4`, ...linesOf(text).flatMap((line) => (line.startsWith('#') ? [] : [`${base}/${line}`]))];
  });
  const digests: Record<string, string> = {};
  for (const path of paths) digests[path.slice(path.indexOf('/'))] = await digestOf(path);
  return digests;
};

const files: readonly FixtureName[] = ['growing.ts', 'growing.mkv', 'growing-no-cues.mkv', 'growing-cues-first.mkv'];
describe.each(files)('%s', (name) => {
  it('plays what has arrived in a playlist that grows, and the same when it is complete', async () => {
    const file = await readFile(await fixture(name));
    const { id, url } = await create();
    const part = Math.floor(file.length * 0.4);
    const most = Math.floor(file.length * 0.95);
    expect((await sendChunk(url!, file, 0, part, file.length)).status).toBe(308);
    const playbackId = await untilPlayable(id);
    const first = await playlistsOf(playbackId);
    expect(first.size).toBeGreaterThan(1);
    for (const text of first.values()) {
      expect(text).toContain('#EXT-X-PLAYLIST-TYPE:EVENT\n#EXT-X-START:TIME-OFFSET=0\n');
      expect(text).not.toContain('#EXT-X-ENDLIST');
      expect(linesOf(text).at(-1)).toBe('2.m4s');
    }
    const early = await filesIn(first);
    const [path] = first.keys();
    const response = await get(path!);
    expect(response.headers.get('cache-control')).toBe('no-cache');
    // What has not arrived.
    expect((await get(path!.replace('playlist.m3u8', '12.m4s'))).status).toBe(404);
    expect((await get(`${playbackId}.mpd`)).status).toBe(412);

    expect((await sendChunk(url!, file, part, most, file.length)).status).toBe(308);
    await until('the playlist grows', async () => linesOf(await (await get(path!)).text()).at(-1) === '10.m4s');
    const grown = await playlistsOf(playbackId);
    for (const [path, text] of first) {
      expect(linesOf(grown.get(path)!).slice(0, linesOf(text).length)).toEqual(linesOf(text));
      expect(grown.get(path)).not.toContain('#EXT-X-ENDLIST');
    }
    const later = await filesIn(grown);
    expect(later).toMatchObject(early);

    await sendRest(id, file);
    const asset = await settled(server, (await read(id)).asset_id!);
    expect(asset).toMatchObject({ status: 'ready', playback_ids: [{ id: playbackId }] });
    expect(await earlyPlaybackOf(server, asset.id)).toEqual({ status: 'played' });
    const last = await playlistsOf(playbackId);
    for (const [path, text] of grown) {
      const listed = (text: string) =>
        linesOf(text).filter((line) => !/^#EXT-X-(PLAYLIST-TYPE|START|ENDLIST)/.test(line));
      expect(listed(last.get(path)!).slice(0, listed(text).length)).toEqual(listed(text));
      expect(last.get(path)).toMatch(/#EXT-X-PLAYLIST-TYPE:VOD\n[\s\S]*#EXT-X-ENDLIST\n$/);
    }
    const complete = await filesIn(last);
    expect(complete).toMatchObject(later);
    await playAll(server.url, playbackId);

    // Without a known size, it does not play before it is complete.
    const stored = await create();
    const sending = openRequest(stored.url!, {});
    await sending.send(file);
    sending.request.end();
    expect((await sending.response()).status).toBe(200);
    const other = await settled(server, (await read(stored.id)).asset_id!);
    expect((await earlyPlaybackOf(server, other.id)) as object).toMatchObject({ status: 'stored_first' });
    const whole = await filesIn(await playlistsOf(other.playback_ids![0]!.id));
    expect(complete).toEqual(whole);
  });
});
