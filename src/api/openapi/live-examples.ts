const LIVE_STREAM_ID = 'p3LwX8sTqN1vJ6yHf0ZkR4uMdE2gC7aBp3LwX8sT';
const ASSET_ID = 'Kq3vT8sWbN1xJ6yHf0ZpR4uLdE2mC7aGKq3vT8sW';

const simulcastTarget = {
  id: 'n6HbT2vXrQ9WkLs4Yc1MdZ8fPgE7uJ3An6HbT2vX',
  status: 'idle',
  url: 'rtmp://live.example.com/app',
  stream_key: 'abcdefgh',
  passthrough: 'second-channel',
};

const liveStream = {
  id: LIVE_STREAM_ID,
  created_at: '1767225600',
  stream_key: '8d2c5b1e-6f0a-4b7c-9e3d-1a2f4c6b8e0d',
  status: 'idle',
  latency_mode: 'standard',
  max_continuous_duration: 43_200,
  reconnect_window: 60,
  use_slate_for_standard_latency: false,
  srt_passphrase: 'Yb5RkN2vLq9TzW4cXy1HdM6sBpE8gUfJ3a7RkN2v',
  playback_ids: [{ id: 'u8TcW3hQnXrB5tLfV2sKp7mZdJ6eGyA1u8TcW3hQ', policy: 'public' }],
  new_asset_settings: { playback_policies: ['public'] },
  recent_asset_ids: [ASSET_ID],
  simulcast_targets: [simulcastTarget],
  passthrough: 'channel-1',
  meta: { title: 'Harbor camera' },
};

const { recent_asset_ids: _, simulcast_targets: __, ...newLiveStream } = liveStream;

/** Example resources of live streams, by the title of their schema. */
export const liveExamples = { LiveStream: liveStream, SimulcastTarget: simulcastTarget };

/** Resources right after an operation. */
export const liveExamplesAfter = {
  createLiveStream: newLiveStream,
  updateLiveStream: { ...liveStream, latency_mode: 'low', low_latency: true, reconnect_window: 30 },
  completeLiveStream: {},
  disableLiveStream: {},
  enableLiveStream: {},
  createLivePlaybackId: { id: 'u8TcW3hQnXrB5tLfV2sKp7mZdJ6eGyA1u8TcW3hQ', policy: 'signed' },
  resetStreamKey: { ...liveStream, stream_key: '4f7a9c2d-0b3e-4d58-8a61-7c5e2f9b1d30' },
  updateEmbeddedSubtitles: {
    ...liveStream,
    embedded_subtitles: [{ name: 'English', language_code: 'en', language_channel: 'cc1' }],
  },
  updateGeneratedSubtitles: { ...liveStream, generated_subtitles: [{ name: 'English', language_code: 'en' }] },
  updateLiveStaticRenditions: {
    ...liveStream,
    new_asset_settings: {
      ...liveStream.new_asset_settings,
      static_renditions: [{ resolution: 'highest' }, { resolution: 'audio-only' }],
    },
  },
};
