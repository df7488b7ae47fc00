/** The encoder comes back with other audio, or without it: the recording plays as one asset. */
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ffmpegPath } from '../../support/media/ffmpeg-command.js';
import { fixture } from '../../support/media/fixtures.js';
import { startPublisher } from '../../support/processes/publisher.js';
import { LiveStation } from '../../support/servers/live-station.js';
import { cleanUpServers } from '../../support/servers/server-process.js';
import { api } from '../../support/wire/create-asset.js';

const SESSION_SECONDS = 12;
const STEREO = ['-c:a', 'aac', '-ar', '48000', '-ac', '2'];

let station: LiveStation;
beforeAll(async () => {
  station = await LiveStation.open();
});
afterAll(async () => {
  station.close();
  await cleanUpServers();
});

test.each([
  ['another rate', STEREO, ['-c:a', 'aac', '-ar', '44100', '-ac', '2']],
  ['another rate and more channels', ['-c:a', 'aac', '-ar', '44100', '-ac', '1'], STEREO],
  ['audio after none', ['-an'], STEREO],
  ['no audio any more', STEREO, ['-an']],
])('an encoder comes back with %s', async (_name, ...sessions) => {
  const file = await fixture('long.mp4');
  const stream = await station.create({ latency_mode: 'standard', reconnect_window: 60 });
  for (const audio of sessions) {
    const args = ['-i', file, '-t', String(SESSION_SECONDS), '-c:v', 'copy', ...audio];
    const url = `rtmp://127.0.0.1:${station.rtmpPort}/app/${stream.stream_key}`;
    await station.untilRead(stream, () => startPublisher(url, args));
  }
  const { active_asset_id: assetId } = await station.retrieve(stream);
  await api(station.server, 'PUT', `/video/v1/live-streams/${stream.id}/complete`);
  const asset = await station.untilPlanned(assetId!);
  const url = `${station.server.url}/${asset.playback_ids![0]!.id}.m3u8`;
  const decode = (...output: string[]) =>
    execFileSync(ffmpegPath!, ['-v', 'error', '-i', url, ...output, '-'], { maxBuffer: 2 ** 27 });
  const samples = decode('-map', '0:a', '-ac', '1', '-ar', '48000', '-f', 's16le').length / 2;
  // Where there was none, there is silence.
  expect(samples / 48_000).toBeCloseTo(2 * SESSION_SECONDS, 0);
  const frames = decode('-map', '0:v', '-f', 'framehash').toString().split('\n');
  const count = frames.filter((line) => line !== '' && !line.startsWith('#')).length;
  expect(Math.abs(count - 2 * SESSION_SECONDS * 30)).toBeLessThanOrEqual(4);
});
