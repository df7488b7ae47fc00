import { describe, expect, it } from 'vitest';
import { AttemptLimit } from '../attempt-limit.js';
import { addressGroup, peerAddress } from './peer-address.js';
import { streamKeyOf } from './stream-key.js';

describe('addresses', () => {
  it.each([
    ['::ffff:192.0.2.7', '192.0.2.7', '192.0.2.7'],
    ['192.0.2.7', '192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8::6', '2001:db8::6', '2001:db8:0:0'],
    ['::1', '::1', '0:0:0:0'],
    ['fe80::1%eth0', 'fe80::1%eth0', 'fe80:0:0:0'],
  ])('%s', (remote, peer, group) => {
    expect(peerAddress(remote)).toBe(peer);
    expect(addressGroup(peer)).toBe(group);
  });
});

describe('stream keys', () => {
  it.each([
    ['app', 'key', 'key'],
    ['app', 'key?token=1&x=a/b', 'key'],
    ['app', 'app/key', 'key'],
    ['app', '/key/', 'key'],
    ['app/key', '', 'key'],
    ['app/key?x=1', '?y=2', 'key'],
    ['app', '', undefined],
    ['', '', undefined],
    ['app', 'k'.repeat(256), undefined],
  ])('of %j and %j', (app, name, key) => {
    expect(streamKeyOf(app, name)).toBe(key);
  });
});

describe('wrong keys', () => {
  it('are limited by address and minute', () => {
    let nowMs = 0;
    const failed = new AttemptLimit(3, { now: () => new Date(), monotonicMs: () => nowMs });
    for (let count = 0; count < 3; count++) {
      expect(failed.isReached('192.0.2.1')).toBe(false);
      failed.add('192.0.2.1');
    }
    expect(failed.isReached('192.0.2.1')).toBe(true);
    expect(failed.isReached('192.0.2.2')).toBe(false);
    nowMs = 60_000;
    expect(failed.isReached('192.0.2.1')).toBe(false);
    failed.add('192.0.2.1');
    expect(failed.isReached('192.0.2.1')).toBe(false);
  });

  it('are remembered of a limited number of addresses', () => {
    const failed = new AttemptLimit(1, { now: () => new Date(), monotonicMs: () => 0 });
    for (let address = 0; address <= 10_000; address++) failed.add(String(address));
    expect(failed.isReached('0')).toBe(false);
    expect(failed.isReached('1')).toBe(true);
    expect(failed.isReached('10000')).toBe(true);
  });
});
