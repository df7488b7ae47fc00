/**
 * What the longest test files cost: seconds of CPU time, with the test media already made. They start first, so that the
 * workers end together. `npm test` prints the ten slowest files of a run; measure again when a file is missing here.
 */
export const slowFiles: Readonly<Record<string, number>> = {
  'test/acceptance/playback-matrix-frames.test.ts': 69,
  'test/acceptance/features-together.test.ts': 68,
  // Nearly all of it is waiting.
  'test/integration/server/idle-memory.test.ts': 66,
  'test/acceptance/playback-matrix-codecs.test.ts': 63,
  'test/integration/renditions/master.test.ts': 49,
  'test/acceptance/playback-matrix-rungs.test.ts': 43,
  'test/integration/ingest/ingest-sample.test.ts': 37,
  'test/acceptance/drm-browser.test.ts': 36,
  'test/integration/renditions/static-renditions.test.ts': 35,
  'test/acceptance/mux-player.test.ts': 35,
  'test/integration/renditions/post-ready-restart.test.ts': 34,
  'test/integration/cli/offline.test.ts': 33,
  'test/acceptance/shaka-browser.test.ts': 32,
  'test/media/images.test.ts': 31,
  'test/integration/ingest/ingest-overlays.test.ts': 31,
  'test/acceptance/upload-browser.test.ts': 29,
  'test/integration/webhooks/webhook-backlog.test.ts': 28,
  'test/acceptance/playback-matrix-damaged.test.ts': 26,
  'test/integration/cli/serve.test.ts': 25,
  'test/integration/tracks/audio-tracks.test.ts': 24,
  'test/integration/ingest/normalize-audio.test.ts': 22,
  'test/integration/ingest/ingest-clips.test.ts': 21,
  'test/media/video-segments.test.ts': 20,
  'test/integration/ingest/default-video-quality.test.ts': 20,
  'test/integration/ingest/ingest-hostile.test.ts': 18,
  'test/integration/ingest/ingest-load.test.ts': 17,
  'test/integration/uploads/upload-restart.test.ts': 15,
  'test/integration/stream/drm-crash.test.ts': 15,
  'test/integration/renditions/static-rendition-restart.test.ts': 15,
  'test/integration/webhooks/webhook-crash.test.ts': 14,
  'test/integration/tracks/clip-tracks.test.ts': 14,
  'test/acceptance/subtitles-browser.test.ts': 14,
};
