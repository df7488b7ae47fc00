import { expect, it } from 'vitest';
import { UserAgents } from './user-agents.js';

const mozilla = 'Mozilla/5.0';
const userAgents = new UserAgents();

it.each([
  [
    `${mozilla} (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36`,
    { browser: 'Chrome', browser_version: '124.0.0.0', operating_system: 'Windows', operating_system_version: '10' },
    'desktop',
  ],
  [
    `${mozilla} (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1`,
    { browser: 'Safari', operating_system: 'iOS', operating_system_version: '17.4' },
    'phone',
  ],
  [
    `${mozilla} (iPad; CPU OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.6 Mobile/15E148 Safari/604.1`,
    { operating_system: 'iOS', viewer_device_manufacturer: 'Apple', viewer_device_model: 'iPad' },
    'tablet',
  ],
  [`${mozilla} (X11; Linux x86_64; rv:125.0) Gecko/20100101 Firefox/125.0`, { browser: 'Firefox' }, 'desktop'],
  [
    `${mozilla} (SMART-TV; Linux; Tizen 5.0) AppleWebKit/538.1 (KHTML, like Gecko) Version/5.0 NativeTVAds Safari/538.1`,
    { operating_system: 'Tizen' },
    'tv',
  ],
])('reads %s', (header, values, category) => {
  expect(Object.fromEntries(userAgents.describe(header))).toMatchObject({
    ...values,
    viewer_device_category: category,
  });
});

it('knows nothing of an empty header', () => {
  expect(userAgents.describe('').size).toBe(0);
});
