/** Every event that this server sends. The last one is only sent on request, to test a webhook. */
export type EventType =
  | `video.asset.${'created' | 'non_standard_input_detected' | 'ready' | 'errored' | 'updated' | 'deleted' | 'warning'}`
  | 'video.asset.live_stream_completed'
  | `video.asset.master.${'preparing' | 'ready' | 'errored' | 'deleted'}`
  | `video.asset.static_renditions.${'preparing' | 'ready' | 'errored' | 'deleted'}`
  | `video.asset.static_rendition.${'created' | 'ready' | 'skipped' | 'errored' | 'deleted'}`
  | `video.asset.track.${'created' | 'ready' | 'errored' | 'deleted'}`
  | `video.asset.shots.${'created' | 'ready' | 'skipped' | 'errored' | 'deleted'}`
  | `video.upload.${'created' | 'playable' | 'asset_created' | 'cancelled' | 'errored'}`
  | `video.live_stream.${LiveEventName | 'warning'}`
  | `video.live_stream.simulcast_target.${'created' | 'idle' | 'starting' | 'broadcasting' | 'errored' | 'deleted'}`
  | `video.delivery_budget.${'warning' | 'spent'}`
  | `robots.job.${string}.${'pending' | 'processing' | 'completed' | 'errored' | 'cancelled'}`
  | `robots.directive_run.${'created' | 'completed' | 'partial' | 'errored'}`
  | 'kinora.webhook.test';

/** What happens to a live stream. */
export type LiveEventName =
  | ('created' | 'updated' | 'enabled' | 'disabled' | 'deleted')
  | ('connected' | 'recording' | 'active' | 'disconnected' | 'idle');

/** The type of an event's object; the API spells `live` and `static-rendition` this way. */
export type EventObjectType =
  | ('asset' | 'upload' | 'track' | 'static-rendition' | 'live' | 'simulcast_target' | 'delivery_budget')
  | ('webhook' | 'job' | 'directive_run');
