import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { eventKeys, storedFields } from './beacon-fields.js';
import { shortKey } from './key-words.js';

interface MuxEmbed {
  init(id: string, options: object): void;
  emit(id: string, event: string): void;
}

/** What mux-embed sends of these fields. */
const sentByMuxEmbed = (fields: Readonly<Record<string, string>>): Record<string, unknown> => {
  const bodies: string[] = [];
  const module = { exports: {} as MuxEmbed & { default?: MuxEmbed } };
  const window = {
    location: { href: 'https://example.org/' },
    document: { cookie: '', visibilityState: 'visible' },
    fetch: async (_: string, { body }: { readonly body: string }) => {
      bodies.push(body);
      return { ok: true };
    },
    setTimeout: () => 0,
    setInterval: () => 0,
    clearTimeout: () => undefined,
    clearInterval: () => undefined,
    addEventListener: () => undefined,
    removeEventListener: () => undefined,
  };
  const source = readFileSync(createRequire(import.meta.url).resolve('mux-embed'), 'utf8');
  runInNewContext(source, { ...window, window, module, exports: module.exports });
  const mux = module.exports.default ?? module.exports;
  const options = { beaconCollectionDomain: 'localhost', getPlayheadTime: () => 1000, data: fields };
  mux.init('#player', options);
  mux.emit('#player', 'play');
  const [first = '{}'] = bodies;
  const { events } = JSON.parse(first) as { events: Record<string, unknown>[] };
  return Object.assign({}, ...events);
};

describe('shortKey', () => {
  it('writes every name that Kinora reads as mux-embed does', () => {
    const others = ['player_error_severity', 'player_error_business_exception', 'player_playback_mode'];
    const names = [...storedFields.map(([field]) => field), ...others, 'video_source_codec', 'mux_viewer_id'];
    // mux-embed reads sizes as numbers.
    const values = new Map(names.map((name, i) => [name, String(1000 + i)]));
    const sent = sentByMuxEmbed({ ...Object.fromEntries(values), env_key: 'abc123' });
    const keyOf = new Map(Object.entries(sent).map(([key, value]) => [String(value), key]));
    // Times, which it measures itself, have other values.
    const wrong = names.filter((name) => (keyOf.get(values.get(name)!) ?? shortKey(name)) !== shortKey(name));
    expect(wrong).toEqual([]);
    expect(names.filter((name) => sent[shortKey(name)] === undefined)).toEqual([]);
  });

  it.each([
    ['env_key', 'ake'],
    ['view_id', 'xid'],
    ['view_playing_time_ms_cumulative', 'xpntimscv'],
    ['custom_10', 'c10'],
    ['video_cdn_trace', 'vdn_trace_'],
    ['foo_id', 'foo_id'],
  ])('%s is %s', (name, key) => {
    expect(shortKey(name)).toBe(key);
  });

  it('has a key of its own for each field', () => {
    expect(new Set(storedFields.map(([field]) => shortKey(field))).size).toBe(storedFields.length);
    expect(new Set(Object.values(eventKeys)).size).toBe(Object.keys(eventKeys).length);
  });
});
