import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Booted, boot } from '../../support/servers/boot.js';
import { beaconOf, ReportingPlayer, sendBeacon } from '../../support/wire/beacons.js';

describe('POST /', () => {
  let server: Booted;
  beforeAll(async () => {
    server = await boot({ options: { DATA_HOST: 'localhost' } });
  });
  afterAll(() => server.stop());
  const url = () => server.url.replace('127.0.0.1', 'localhost');
  const beacon = () => beaconOf([new ReportingPlayer('abc123', 'view').event('viewstart')]);

  it('answers pages of any origin, and sets no cookie', async () => {
    const response = await sendBeacon(url(), beacon(), { origin: 'https://example.org' });
    expect(response.status).toBe(200);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('set-cookie')).toBeNull();
    expect(await response.text()).toBe('');
  });

  it('answers what browsers ask before they send JSON', async () => {
    const response = await fetch(`${url()}/`, { method: 'OPTIONS', headers: { origin: 'https://example.org' } });
    expect(response.status).toBe(204);
    expect(response.headers.get('access-control-allow-methods')).toBe('POST');
    expect((await sendBeacon(url(), beacon(), { 'content-type': 'application/json' })).status).toBe(200);
  });

  it.each([
    ['no JSON', '{"events":', 400],
    ['nothing', '', 400],
    ['a list', '[]', 400],
    ['too many events', JSON.stringify({ events: Array.from({ length: 301 }, () => ({})) }), 400],
    ['lists within lists', '['.repeat(200_000), 400],
    ['more than 512 KiB', JSON.stringify({ events: [{ x: 'x'.repeat(512 * 1024) }] }), 413],
  ])('refuses %s', async (_, body, status) => {
    const response = await sendBeacon(url(), body);
    expect(response.status).toBe(status);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
  });

  it('is nothing on other hosts, which keep their page', async () => {
    expect((await sendBeacon(server.url.replace('localhost', '127.0.0.1'), beacon())).status).toBe(404);
    expect((await fetch(`${server.url}/`)).status).toBe(200);
  });
});
