import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseLivePlaylist } from '../../support/players/live-playlist.js';
import { LiveRules } from '../../support/players/live-rules.js';
import { startCutProxy } from '../../support/servers/cut-proxy.js';
import { isContinuous, LiveStation, SESSION_FRAMES, type WireLiveStream } from '../../support/servers/live-station.js';
import { hasPostgres, startPostgres, type TestPostgres } from '../../support/servers/postgres.js';
import { RESET_POINTS, startResettingProxy } from '../../support/servers/resetting-proxy.js';
import { cleanUpServers, makeDataDir, until } from '../../support/servers/server-process.js';
import { api, getAsset } from '../../support/wire/create-asset.js';

/** Everything that waits is tried again each second, so a longer time shows nothing else. */
const AWAY_MS = 20_000;

/** A viewer who never stops: fetches the playlist and each new segment. */
class Viewer {
  readonly problems: string[] = [];
  /** Numbers of segments. */
  readonly seen: number[] = [];
  readonly #url: string;
  readonly #rules = new LiveRules();
  readonly #done: Promise<void>;
  #isStopped = false;

  constructor(url: string) {
    this.#url = url;
    this.#done = this.#watch();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#done;
  }

  async #watch(): Promise<void> {
    while (!this.#isStopped) {
      const response = await fetch(this.#url);
      const text = await response.text();
      if (response.status !== 200) this.problems.push(`${response.status} ${text}`);
      else {
        this.problems.push(...this.#rules.check(text));
        const { segments } = parseLivePlaylist(text);
        for (const { number } of segments.filter((segment) => segment.uri !== undefined)) {
          if (number <= (this.seen.at(-1) ?? -1)) continue;
          const { status } = await fetch(new URL(`${number}.m4s`, this.#url));
          if (status !== 200) this.problems.push(`${status} for segment ${number}`);
          this.seen.push(number);
        }
      }
      await pause(300);
    }
  }
}

describe.skipIf(!hasPostgres())('a database that is unavailable while a live stream is on air', () => {
  let postgres: TestPostgres;
  const stations: LiveStation[] = [];
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(async () => {
    for (const station of stations) station.close();
    await cleanUpServers();
    await postgres?.stop();
  });

  const open = async (databaseUrl: string): Promise<LiveStation> => {
    const station = await LiveStation.open({ dataDir: makeDataDir(), options: { DATABASE_URL: databaseUrl } });
    stations.push(station);
    return station;
  };
  const complete = async (station: LiveStation, { id }: WireLiveStream): Promise<void> => {
    expect((await api(station.server, 'PUT', `/video/v1/live-streams/${id}/complete`)).status).toBe(200);
  };

  const outages = [
    {
      name: 'ends and starts again',
      begin: async () => {
        const url = await postgres.createDatabase('halts');
        return { url, away: () => postgres.halt(), back: () => postgres.resume() };
      },
    },
    {
      name: 'is silent',
      begin: async () => {
        const url = new URL(await postgres.createDatabase('silence'));
        const network = await startCutProxy(Number(url.port));
        url.port = new URL(network.url).port;
        return { url: url.href, away: async () => network.freeze(), back: async () => network.restore() };
      },
    },
  ];

  it.each(outages)('that $name: viewers and encoders notice nothing', async ({ begin }) => {
    const { url, away, back } = await begin();
    const station = await open(url);
    const stream = await station.create();
    const first = station.publish(stream, { loops: true });
    const assetId = await station.untilActive(stream);
    const rewinding = (await getAsset(station.server, assetId)).playback_ids![0]!.id;
    const ids = [stream.playback_ids[0]!.id, rewinding];
    const viewers = ids.map((id) => new Viewer(station.playlistUrl(id)));
    await until('viewers watch', () => viewers.every(({ seen }) => seen.length > 1));
    const beforeAway = viewers.map(({ seen }) => seen.length);

    await away();
    await pause(AWAY_MS / 2);
    expect(first.process.exitCode).toBeNull();
    // The encoder loses its connection and comes back: its stream key can't be looked up.
    first.process.kill();
    await first.output;
    const second = station.publish(stream, { loops: true });
    await pause(AWAY_MS / 2);
    expect(second.process.exitCode).toBeNull();
    await until('viewers see more', () => viewers.every(({ seen }, at) => seen.length - beforeAway[at]! > 8));
    await back();

    const session = ['connected', 'recording'];
    const expected = ['created', ...session, 'active', 'disconnected', ...session];
    await until('everything is told', async () => {
      const events = await station.told(stream.id).catch(() => []);
      return events.length >= expected.length;
    });
    second.process.kill();
    await second.output;
    await complete(station, stream);
    const asset = await station.untilPlanned(assetId);
    await Promise.all(viewers.map((viewer) => viewer.stop()));
    expect(viewers.flatMap(({ problems }) => problems)).toEqual([]);
    for (const { seen } of viewers) expect(seen).toEqual(seen.map((_, at) => seen[0]! + at));
    expect(await station.told(stream.id)).toEqual([...expected, 'disconnected', 'idle']);
    expect(await station.told(assetId)).toEqual(['created', 'ready', 'live_stream_completed']);
    const times = asset.recording_times as { type: string }[];
    expect(times.map(({ type }) => type)).toEqual(['content', 'slate', 'content']);
    const counters = await station.counters(asset);
    const restarts = counters.flatMap((counter, at) =>
      at > 0 && !isContinuous([counters[at - 1]!, counter]) ? [counter] : [],
    );
    expect(restarts).toEqual([0]);
    expect(await station.server.stop()).toBe(0);
  });

  it('whose responses are lost: every event is told once, in its order', async () => {
    const databaseUrl = await postgres.createDatabase('resets');
    const network = await startResettingProxy(Number(new URL(databaseUrl).port));
    const station = await open(network.behind(databaseUrl));
    for (const point of RESET_POINTS) {
      const stream = await station.create();
      let isArmed = true;
      const resetting = (async () => {
        while (isArmed) await Promise.race([network.resetAt(point), until('disarmed', () => !isArmed)]);
      })();
      const output = await station.publish(stream).output;
      expect(output).not.toContain('Server error');
      isArmed = false;
      network.disarm();
      await resetting;
      await until('it is told', async () => (await station.told(stream.id)).includes('disconnected'));
      const assetId = (await station.retrieve(stream)).active_asset_id!;
      await complete(station, stream);
      expect(await station.counters(await station.untilPlanned(assetId)), point).toHaveLength(SESSION_FRAMES);
      const told = await station.told(stream.id);
      // The first frames may be read when the encoder has left.
      expect(told.indexOf('active'), point).toBeGreaterThan(told.indexOf('recording'));
      expect(
        told.filter((name) => name !== 'active'),
        point,
      ).toEqual(['created', 'connected', 'recording', 'disconnected', 'idle']);
      expect(told, point).toHaveLength(6);
    }
    expect(await station.server.stop()).toBe(0);
    await network.stop();
  });
});
