import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, test as anyTest, beforeAll, expect } from 'vitest';
import { makeEmbeddedFile } from '../support/media/embedded-file.js';
import { ffmpegPath } from '../support/media/ffmpeg-command.js';
import { useBrowser } from '../support/players/browser.js';
import { smallWindow } from '../support/players/chromium.js';
import { servePage } from '../support/players/page-site.js';
import { type Booted, boot } from '../support/servers/boot.js';
import type { Origin } from '../support/servers/origin.js';
import { createAsset, serveFiles, settled } from '../support/wire/create-asset.js';
import { withTracks } from '../support/wire/tracks.js';

const test = anyTest.skipIf(!ffmpegPath);

interface Track {
  readonly language: string;
}
interface Player {
  attach(video: HTMLVideoElement): Promise<void>;
  load(url: string): Promise<void>;
  getTextTracks(): Track[];
  selectTextTrack(track: Track): void;
  getVariantTracks(): (Track & { readonly active: boolean })[];
  selectVariantTrack(track: Track, clearBuffer: boolean): void;
}
type ShakaPage = Window & { shaka: { Player: new () => Player }; embedded: Player };

let server: Booted;
let files: Origin;
let site: Origin;
let folder: string;
let playbackId: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kinora-embedded-'));
  const path = await makeEmbeddedFile(folder, 'film.mkv', {
    audio: [
      { codec: 'aac', language: 'eng', disposition: 'default' },
      { codec: 'aac', language: 'fre' },
    ],
    text: [
      { codec: 'ass', language: 'ger' },
      { codec: 'subrip', language: 'fre' },
    ],
  });
  files = await serveFiles([path]);
  site = await servePage('<!doctype html><video muted></video><script src="/shaka.js"></script>', {
    '/shaka.js': 'shaka-player/dist/shaka-player.compiled.js',
  });
  server = await boot();
  const inputs = [{ url: `${files.url}/0`, embedded_tracks: true }];
  const { id } = await createAsset(server, { inputs, playback_policies: ['public'] });
  const asset = await withTracks(server, await settled(server, id));
  playbackId = asset.playback_ids![0]!.id;
});
afterAll(async () => {
  await server?.stop();
  await site?.stop();
  await files?.stop();
  await rm(folder, { recursive: true, force: true });
});
const browser = useBrowser();

test('the player page shows the cues and the chapters of a file', async () => {
  const { page } = await browser.open();
  await page.goto(`${server.url}/${playbackId}`);
  await page.waitForFunction(() => document.querySelector('video')!.textTracks.length === 2);
  await page.evaluate(() => {
    const { textTracks } = document.querySelector('video')!;
    [...textTracks].find(({ language }) => language === 'fr')!.mode = 'showing';
  });
  await page.waitForFunction(() => {
    const video = document.querySelector('video')!;
    // The page may only begin to play now.
    video.pause();
    if (Math.abs(video.currentTime - 5.5) > 0.1) video.currentTime = 5.5;
    const showing = [...video.textTracks].find(({ mode }) => mode === 'showing');
    return [...(showing?.activeCues ?? [])].some((cue) => (cue as VTTCue).text === 'Deux\nlignes');
  });
  await page.getByRole('button', { name: 'Settings' }).click();
  const chapters = page.getByLabel('Chapter');
  await chapters.waitFor();
  expect(await chapters.locator('option').allTextContents()).toEqual(['Début: one', 'Stream #2: the rest']);
});

test('Shaka Player selects the languages of a file', async () => {
  const { page } = await browser.open(smallWindow);
  await page.goto(`${site.url}/`);
  await page.evaluate(async (url) => {
    const shaka = window as unknown as ShakaPage;
    const player = new shaka.shaka.Player();
    shaka.embedded = player;
    const video = document.querySelector('video')!;
    await player.attach(video);
    await player.load(url);
    player.selectVariantTrack(player.getVariantTracks().find(({ language }) => language === 'fr')!, true);
    player.selectTextTrack(player.getTextTracks().find(({ language }) => language === 'de')!);
    video.currentTime = 5.2;
    await video.play();
  }, `${server.url}/${playbackId}.m3u8`);
  await page.waitForFunction(() => {
    const video = document.querySelector('video')!;
    // On a busy machine, the cue may come when its time is over.
    if (video.currentTime > 6.5) video.currentTime = 5.2;
    const showing = [...video.textTracks].flatMap((track) => [...(track.activeCues ?? [])]);
    return showing.some((cue) => (cue as VTTCue).text.includes('lignes'));
  });
  const active = () =>
    page.evaluate(() =>
      (window as unknown as ShakaPage).embedded
        .getVariantTracks()
        .filter((track) => track.active)
        .map(({ language }) => language),
    );
  expect(await active()).toEqual(['fr']);
});
