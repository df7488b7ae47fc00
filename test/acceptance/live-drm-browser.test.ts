/** DRM while live in a real browser: encoders over RTMP, ClearKey, the page and hls.js. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useBrowser } from '../support/players/browser.js';
import type { Watched } from '../support/players/chromium.js';
import { bytesOf } from '../support/players/drm-playback.js';
import type { OwnedKey } from '../support/players/playback-token.js';
import { LiveStation, type WireLiveStream } from '../support/servers/live-station.js';
import { cleanUpServers } from '../support/servers/server-process.js';
import { createDrmConfiguration, createSigningKey, playbackToken } from '../support/wire/drm.js';

let station: LiveStation;
let key: OwnedKey;
let stream: WireLiveStream;
let page: Page;
let watched: Watched;

beforeAll(async () => {
  station = await LiveStation.open({ options: { LIVE_RUNGS: '1' } });
  key = await createSigningKey(station.server);
  const configurationId = await createDrmConfiguration(station, ['--key-source', 'local']);
  const policies = [{ policy: 'drm', drm_configuration_id: configurationId }];
  stream = await station.create({
    playback_policies: [],
    advanced_playback_policies: policies,
    new_asset_settings: { advanced_playback_policies: policies },
  });
});
afterAll(async () => {
  station?.close();
  await cleanUpServers();
});
const browser = useBrowser();

const open = async (id: string): Promise<void> => {
  ({ page, watched } = await browser.open({ expected: /./ }));
  const [token, license] = ['v', 'd'].map((audience) => playbackToken(key, id, audience));
  await page.goto(`${station.server.url}/${id}?muted&token=${token}&drm-token=${license}`);
};
const state = () =>
  page.evaluate(() => {
    const video = document.querySelector('video')!;
    const { totalVideoFrames, corruptedVideoFrames } = video.getVideoPlaybackQuality();
    return {
      time: video.currentTime,
      frames: totalVideoFrames,
      corruptedVideoFrames,
      hasKeys: video.mediaKeys !== null,
    };
  });
/** Plays on by so many seconds, with frames. */
const untilPlayed = async (seconds: number): Promise<void> => {
  const { time, frames } = await state();
  await page.waitForFunction(
    ([after, count]) => {
      const video = document.querySelector('video')!;
      return video.currentTime > after! && video.getVideoPlaybackQuality().totalVideoFrames > count!;
    },
    [time + seconds, frames + seconds * 20],
  );
};

test('the page plays parts, the slate and the encoder that comes back, all encrypted', async () => {
  const publisher = station.publish(stream, { loops: true });
  await station.untilActive(stream);
  await open(stream.playback_ids[0]!.id);
  await page.waitForFunction(() => document.querySelector('video')!.currentTime > 0.5);
  await untilPlayed(3);
  publisher.process.kill('SIGKILL');
  await untilPlayed(5);
  station.publish(stream, { loops: true });
  await untilPlayed(8);
  expect(await state()).toMatchObject({ corruptedVideoFrames: 0, hasKeys: true });
  const requested = new Set(watched.requested);
  expect([...requested].filter((url) => /\/\d+\.\d+\.m4s/.test(url)).length).toBeGreaterThan(10);
  const inits = [...requested].filter((url) => /\/init-\d+\.mp4/.test(url));
  // Those of the encoder and of the slate.
  expect(inits.filter((url) => url.includes('/270p/')).length).toBeGreaterThanOrEqual(2);
  for (const url of inits) expect((await bytesOf(await fetch(url))).toString('latin1')).toMatch(/enc[va]/);
  expect([...requested].filter((url) => url.includes('/license/clearkey/'))).not.toEqual([]);
});
