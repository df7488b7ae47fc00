/** Every event that this server sends. The last one is only sent on request, to test a webhook. */
export type EventType =
  | `video.asset.${'created' | 'non_standard_input_detected' | 'ready' | 'errored' | 'updated' | 'deleted' | 'warning'}`
  | `video.asset.master.${'preparing' | 'ready' | 'errored' | 'deleted'}`
  | `video.asset.static_renditions.${'preparing' | 'ready' | 'errored' | 'deleted'}`
  | `video.asset.static_rendition.${'created' | 'ready' | 'skipped' | 'errored' | 'deleted'}`
  | `video.asset.track.${'created' | 'ready' | 'errored' | 'deleted'}`
  | `video.asset.shots.${'created' | 'ready' | 'skipped' | 'errored' | 'deleted'}`
  | `video.upload.${'created' | 'playable' | 'asset_created' | 'cancelled' | 'errored'}`
  | `robots.job.${string}.${'pending' | 'processing' | 'completed' | 'errored' | 'cancelled'}`
  | `robots.directive_run.${'created' | 'completed' | 'partial' | 'errored'}`
  | 'kinora.webhook.test';

/** The type of an event's object; the API spells `static-rendition` this way. */
export type EventObjectType = 'asset' | 'upload' | 'track' | 'static-rendition' | 'webhook' | 'job' | 'directive_run';
