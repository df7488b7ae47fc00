import { expect, test } from 'vitest';
import type { Row } from '../../db/schema.js';
import { liveSettingsOf } from './live-settings.js';

const stream = {
  ...{ id: 'a', environment_id: 'e', status: 'idle', latency_mode: 'standard', reconnect_window: null },
  ...{ use_slate_for_standard_latency: false, reconnect_slate_url: null, max_continuous_duration: 43_200 },
  ...{ audio_only: false, is_test: false, srt_passphrase: '', next_sequence: 0, next_discontinuity: 0 },
} as unknown as Row<'live_stream'>;

test.each([
  ['standard', null, false, 60, false],
  ['standard', null, true, 60, true],
  ['standard', 0, true, 0, false],
  ['reduced', null, false, 0, false],
  ['reduced', 10, false, 10, true],
  ['low', null, true, 0, false],
  ['low', 0.5, false, 0.5, true],
] as const)(
  '%s, window %s, slate for standard latency %s: waits %s s, slate: %s',
  (latency_mode, reconnect_window, use_slate_for_standard_latency, seconds, usesSlate) => {
    const row = { ...stream, latency_mode, reconnect_window, use_slate_for_standard_latency };
    expect(liveSettingsOf(row)).toMatchObject({ reconnectSeconds: seconds, usesSlate });
  },
);
