import type { Generated, GeneratedAlways, Insertable, JSONColumnType, Selectable } from 'kysely';
import type { ErrorCode } from '../lib/errors.js';

/**
 * One file, because it is one table of types. The tables as created by `migrations/*.sql`; the
 * contract tests compare the two on every engine.
 */
export interface Schema {
  installation: {
    id: string;
    organization_name: string;
    only_row: Generated<boolean>;
    secret: Generated<string>;
    blobs: string | null;
  };
  node: {
    id: string;
    internal_url: string;
    roles: string[];
    generation: number;
    early: string[];
    draining: Generated<boolean>;
    started_at: Generated<Date>;
    seen_at: Generated<Date>;
  };
  node_lease: { name: string; node_id: string; until: Date };
  environment: {
    id: string;
    name: string;
    type: 'development' | 'production';
    default_video_quality: Generated<VideoQuality>;
    public_restriction_id: string | null;
    created_at: Generated<Date>;
  };
  access_token: {
    id: string;
    environment_id: string;
    name: string;
    secret_hash: string;
    permissions: JSONColumnType<string[]>;
    created_at: Generated<Date>;
    revoked_at: Date | null;
    expires_at: Date | null;
  };
  console_link: { code_hash: string; created_at: Date; expires_at: Date; used_at: Date | null };
  console_session: {
    secret_hash: string;
    token_id: string | null;
    environment_id: string;
    created_at: Date;
    last_used_at: Date;
    ends_at: Date;
  };
  asset: {
    id: string;
    seq: GeneratedAlways<number>;
    environment_id: string;
    created_at: Generated<Date>;
    status: Generated<'preparing' | 'ready' | 'errored'>;
    progress_state: Generated<'ingesting' | 'transcoding' | 'completed' | 'errored' | 'live'>;
    progress: Generated<number>;
    ingest_type:
      | 'on_demand_url'
      | 'on_demand_direct_upload'
      | 'on_demand_clip'
      | 'live_rtmp'
      | 'live_srt'
      | 'live_whip';
    upload_id: string | null;
    video_quality: VideoQuality;
    max_resolution_tier: '1080p' | '1440p' | '2160p';
    mp4_support: string;
    master_access: 'none' | 'temporary';
    normalize_audio: boolean;
    is_test: boolean;
    passthrough: string | null;
    meta: JSONColumnType<Record<string, string>> | null;
    non_standard_input_reasons: JSONColumnType<Record<string, string>> | null;
    error: JSONColumnType<{ type: string; messages: string[] }> | null;
    duration_seconds: number | null;
    aspect_ratio: string | null;
    resolution_tier: string | null;
    max_stored_resolution: string | null;
    max_stored_frame_rate: number | null;
    ready_at: Date | null;
    thumbnail_time: number | null;
    source_asset_id: string | null;
    generate_shots: Generated<boolean>;
    static_renditions_status: 'preparing' | 'ready' | 'errored' | null;
    master_status: 'preparing' | 'ready' | 'errored' | null;
    master_id: string | null;
    master_ready_at: Date | null;
    directives: JSONColumnType<string[]> | null;
    chapters: JSONColumnType<StoredChapters> | null;
    request_id: string | null;
    frames_lost: string | null;
    live_stream_id: string | null;
    is_live: Generated<boolean>;
    recording_times: JSONColumnType<RecordingTime[]> | null;
    av1: Generated<'auto' | 'always' | 'never'>;
    av1_state: 'listed' | 'failed' | null;
  };
  asset_failure: {
    asset_id: string;
    occurred_at: Date;
    stage: 'download' | 'probe' | 'plan' | 'segments';
    job_id: string;
    detail: string;
  };
  asset_input: {
    asset_id: string;
    position: number;
    settings: JSONColumnType<Record<string, unknown>>;
    file: JSONColumnType<Record<string, unknown>> | null;
    early_playback: JSONColumnType<EarlyPlayback> | null;
  };
  asset_media: {
    asset_id: string;
    source_validator: string | null;
    crashes: Generated<number>;
    facts: JSONColumnType<object> | null;
    plan: JSONColumnType<object> | null;
    source_owner: string | null;
    clip: JSONColumnType<object> | null;
  };
  source_use: { asset_id: string; owner_id: string };
  playback_id: {
    id: string;
    seq: GeneratedAlways<number>;
    asset_id: string | null;
    live_stream_id: string | null;
    environment_id: string;
    policy: 'public' | 'signed' | 'drm';
    drm_configuration_id: string | null;
    created_at: Generated<Date>;
  };
  live_stream: {
    id: string;
    seq: GeneratedAlways<number>;
    environment_id: string;
    created_at: Generated<Date>;
    status: Generated<'idle' | 'active' | 'disabled'>;
    stream_key: string;
    stream_key_hash: string;
    srt_passphrase: string;
    latency_mode: 'standard' | 'reduced' | 'low';
    reconnect_window: number | null;
    use_slate_for_standard_latency: boolean;
    reconnect_slate_url: string | null;
    max_continuous_duration: number;
    audio_only: boolean;
    is_test: boolean;
    embedded_subtitles: JSONColumnType<EmbeddedSubtitles[]> | null;
    generated_subtitles: JSONColumnType<LiveSubtitles[]> | null;
    passthrough: string | null;
    meta: JSONColumnType<Record<string, string>> | null;
    new_asset_settings: JSONColumnType<Record<string, unknown>> | null;
    connected: Generated<boolean>;
    recording: Generated<boolean>;
    ingest_protocol: 'rtmp' | 'srt' | null;
    active_asset_id: string | null;
    disconnected_at: Date | null;
    node_id: string | null;
    next_sequence: Generated<number>;
    next_discontinuity: Generated<number>;
  };
  simulcast_target: {
    id: string;
    seq: GeneratedAlways<number>;
    live_stream_id: string;
    url: string;
    stream_key: string | null;
    passthrough: string | null;
    status: Generated<'idle' | 'starting' | 'broadcasting' | 'errored'>;
    error_severity: 'normal' | 'fatal' | null;
  };
  drm_configuration: {
    id: string;
    seq: GeneratedAlways<number>;
    environment_id: string;
    created_at: Generated<Date>;
    name: string;
    key_source: KeySourceKind;
    settings: string;
  };
  content_key: {
    drm_configuration_id: string;
    asset_id: string;
    track: 'video' | 'audio';
    kid: string;
    secrets: string;
    systems: JSONColumnType<object[]>;
  };
  track: {
    id: string;
    seq: GeneratedAlways<number>;
    asset_id: string;
    type: 'video' | 'audio' | 'text';
    status: string;
    is_primary: Generated<boolean>;
    name: string | null;
    language_code: string | null;
    duration_seconds: number | null;
    max_width: number | null;
    max_height: number | null;
    max_frame_rate: number | null;
    max_channels: number | null;
    max_channel_layout: string | null;
    text_type: 'subtitles' | null;
    text_source: 'uploaded' | 'embedded' | 'generated_live' | 'generated_live_final' | 'generated_vod' | null;
    closed_captions: boolean | null;
    passthrough: string | null;
    error: JSONColumnType<{ type: string; messages: string[] }> | null;
    url: string | null;
    source_validator: string | null;
    input_position: number | null;
    stream_index: number | null;
    caption_channel: CaptionChannelName | null;
    audio_track_id: string | null;
    language_confidence: number | null;
    progress: number | null;
  };
  track_media: {
    track_id: string;
    source_asset_id: string;
    source_track_id: string;
    crashes: Generated<number>;
    facts: JSONColumnType<object> | null;
    joined: Generated<boolean>;
    zero_seconds: number | null;
    plan: JSONColumnType<object> | null;
  };
  static_rendition: {
    id: string;
    seq: GeneratedAlways<number>;
    asset_id: string;
    created_at: Generated<Date>;
    name: string;
    ext: 'mp4' | 'm4a';
    resolution: string | null;
    status: Generated<'preparing' | 'ready' | 'skipped' | 'errored'>;
    progress: Generated<number>;
    width: number | null;
    height: number | null;
    bitrate: number | null;
    size_bytes: number | null;
    resolution_tier: string | null;
    passthrough: string | null;
    error: JSONColumnType<{ type: string; messages: string[] }> | null;
  };
  shots: {
    asset_id: string;
    order_id: string;
    created_at: Generated<Date>;
    status: 'pending' | 'completed' | 'errored' | 'skipped' | 'deleted';
    start_times: JSONColumnType<number[]> | null;
    error: JSONColumnType<{ type: string; messages: string[] }> | null;
  };
  job: {
    id: Generated<string>;
    seq: GeneratedAlways<number>;
    queue: string;
    key: string | null;
    payload: JSONColumnType<object>;
    state: Generated<'queued' | 'active' | 'done' | 'failed' | 'cancelled'>;
    priority: Generated<number>;
    run_at: Generated<Date>;
    attempt: Generated<number>;
    max_attempts: number;
    retries: Generated<number>;
    losses: Generated<number>;
    failing: Generated<boolean>;
    cancel: Generated<boolean>;
    worker: string | null;
    lease_id: string | null;
    lease_until: Date | null;
    error: JSONColumnType<JobError> | null;
    created_at: Generated<Date>;
    finished_at: Date | null;
  };
  upload: {
    id: string;
    seq: GeneratedAlways<number>;
    environment_id: string;
    created_at: Generated<Date>;
    status: Generated<UploadStatus>;
    timeout_seconds: number;
    expires_at: Date;
    cors_origin: string;
    new_asset_settings: JSONColumnType<Record<string, unknown>>;
    is_test: boolean;
    target_asset_id: string;
    total_bytes: number | null;
    error: JSONColumnType<{ type: string; message: string }> | null;
    early_playback_ids: JSONColumnType<EarlyPlaybackId[]> | null;
    early_playback: JSONColumnType<EarlyPlayback> | null;
    request_id: string | null;
  };
  upload_transfer: {
    upload_id: string;
    lease_holder: string | null;
    lease_token: string | null;
    lease_until: Date | null;
    renewed_at: Date | null;
    multipart_id: string | null;
    part_bytes: number | null;
    parts: JSONColumnType<TransferPart[]>;
    reserved_parts: Generated<number>;
    tails: JSONColumnType<TransferTail[]>;
    received_bytes: Generated<number>;
    saved_by: string | null;
  };
  event: {
    id: string;
    seq: GeneratedAlways<number>;
    environment_id: string;
    created_at: Date;
    type: string;
    object_type: string;
    object_id: string;
    body: string;
  };
  webhook: {
    id: string;
    seq: GeneratedAlways<number>;
    environment_id: string;
    address: string;
    enabled: Generated<boolean>;
    signing_secret: string;
    configured: Generated<boolean>;
    created_at: Generated<Date>;
  };
  webhook_delivery: {
    id: string;
    seq: GeneratedAlways<number>;
    webhook_id: string;
    event_id: string;
    object_id: string;
    created_at: Date;
    state: Generated<'pending' | 'succeeded' | 'failed' | 'stopped'>;
    attempts: Generated<number>;
    next_attempt_at: Date;
    finished_at: Date | null;
  };
  webhook_attempt: {
    delivery_id: string;
    number: number;
    address: string;
    created_at: Date;
    duration_ms: number;
    response_status: number | null;
    response_headers: JSONColumnType<Record<string, string>> | null;
    response_body: string | null;
    error: string | null;
  };
  signing_key: {
    id: string;
    seq: GeneratedAlways<number>;
    environment_id: string;
    created_at: Generated<Date>;
    public_key: string;
  };
  playback_restriction: {
    id: string;
    seq: GeneratedAlways<number>;
    environment_id: string;
    created_at: Generated<Date>;
    updated_at: Generated<Date>;
    referrer: JSONColumnType<{ allowed_domains: string[]; allow_no_referrer: boolean }>;
    user_agent: JSONColumnType<{ allow_no_user_agent: boolean; allow_high_risk_user_agent: boolean }>;
  };
  transcription_vocabulary: {
    id: string;
    seq: GeneratedAlways<number>;
    environment_id: string;
    created_at: Generated<Date>;
    updated_at: Generated<Date>;
    name: string | null;
    phrases: JSONColumnType<string[]>;
    passthrough: string | null;
  };
  delivery_usage: {
    environment_id: string;
    asset_id: string;
    minute: Date;
    tier: string;
    delivered_seconds: number;
    delivered_bytes: number;
    minutes: Generated<number>;
    av1_seconds: Generated<number>;
    av1_bytes: Generated<number>;
  };
  delivery_budget: {
    id: string;
    seq: GeneratedAlways<number>;
    environment_id: string;
    asset_id: string | null;
    created_at: Date;
    updated_at: Date;
    period: 'day' | 'month';
    unit: 'bytes' | 'seconds';
    amount: number;
    action: 'notify' | 'step_down' | 'stop';
    period_start: Date;
    delivered_bytes: number;
    delivered_seconds: number;
    reported: Generated<0 | 80 | 100>;
  };
  import_asset: {
    asset_id: string;
    environment_id: string;
    source_url: string;
    state: 'prepared' | 'started' | 'done' | 'failed';
    borrowed: JSONColumnType<Borrowed> | null;
    main_tracks: JSONColumnType<MainTrackIds> | null;
    updated_at: Date;
  };
  delivery_part: { asset_id: string; part: number; seconds: number };
  directive: {
    id: string;
    seq: GeneratedAlways<number>;
    environment_id: string;
    created_at: Generated<Date>;
    name: string;
    resources: JSONColumnType<object[]>;
    workflows: JSONColumnType<object[]>;
    deleted_at: Date | null;
  };
  directive_run: {
    id: string;
    seq: GeneratedAlways<number>;
    internal_id: string;
    directive_id: string;
    environment_id: string;
    asset_id: string;
    status: Generated<RunStatus>;
    started_at: Date;
    completed_at: Date | null;
    deadline_at: Date | null;
    resources: JSONColumnType<RunResource[]>;
    nodes: JSONColumnType<RunNode[]>;
  };
  robots_job: {
    id: string;
    seq: GeneratedAlways<number>;
    internal_id: string;
    environment_id: string;
    asset_id: string;
    workflow: string;
    status: Generated<RobotsJobStatus>;
    created_at: Date;
    updated_at: Date;
    parameters: JSONColumnType<{ asset_id: string }>;
    passthrough: string | null;
    directive_id: string | null;
    run_id: string | null;
    waiting: Generated<boolean>;
    input_track_id: string | null;
    new_track_id: string;
    prompts: JSONColumnType<Record<string, number>> | null;
    outputs: JSONColumnType<object> | null;
    files: JSONColumnType<Record<string, string>> | null;
    error: JSONColumnType<RobotsJobError> | null;
  };
  video_view: {
    environment_id: string;
    id: string;
    started_at: Date;
    seen_at: Date;
    ended_at: Date | null;
    is_summed: Generated<boolean>;
    asset_id: string | null;
    live_stream_id: string | null;
    playback_id: string | null;
    viewer_id: string | null;
    session_id: string | null;
    error_id: number | null;
    dimensions: JSONColumnType<Record<string, string>>;
    details: JSONColumnType<Record<string, string | number | boolean | null>>;
    player_startup_time: number | null;
    page_load_time: number | null;
    video_startup_time: number | null;
    aggregate_startup_time: number | null;
    playing_time: number | null;
    watch_time: number | null;
    content_playback_time: number | null;
    rebuffer_count: number | null;
    rebuffer_duration: number | null;
    seek_count: number | null;
    seek_duration: number | null;
    max_upscale: number | null;
    max_downscale: number | null;
    total_upscale: number | null;
    total_downscale: number | null;
    request_latency: number | null;
    max_request_latency: number | null;
    request_throughput: number | null;
    average_bitrate: number | null;
    live_latency: number | null;
    rendition_changes: number | null;
    rendition_upshifts: number | null;
    rendition_downshifts: number | null;
    dropped_frames: number | null;
    max_playhead: number | null;
    is_startup_failure: Generated<boolean>;
    is_playback_failure: Generated<boolean>;
    is_business_exception: Generated<boolean>;
    is_dropped: Generated<boolean>;
    ranges: JSONColumnType<ViewRange[]>;
    events: JSONColumnType<ViewEvent[]>;
  };
  view_error: {
    id: GeneratedAlways<number>;
    environment_id: string;
    code: string;
    message: string;
    created_at: Date;
    last_seen_at: Date;
  };
  view_rollup: {
    environment_id: string;
    period: 'hour' | 'day' | 'month';
    start: Date;
    dimension: string;
    value: string;
    views: number;
    watch_ms: number;
    playing_ms: number;
    rebuffers: number;
    rebuffer_ms: number;
    startups: number;
    startup_ms: number;
    startup_failures: number;
    playback_failures: number;
    exits: number;
  };
  annotation: {
    id: string;
    environment_id: string;
    date: Date;
    note: string;
    sub_property_id: string | null;
    created_at: Date;
  };
  deleted_asset: {
    id: string;
    environment_id: string;
    created_at: Date;
    deleted_at: Date;
    duration_seconds: number | null;
    resolution_tier: string | null;
    video_quality: VideoQuality;
    passthrough: string | null;
    live_stream_id: string | null;
  };
}

/** Why the last run of a job failed; stored so that another process can report the failure. */
export interface JobError {
  code: ErrorCode;
  messages: readonly string[];
  /** Shown to the operator only. */
  detail: string;
}

/** What an import changed at its source and must undo there. */
export interface Borrowed {
  /** Master access was `none` before. */
  readonly master?: true;
  /** A public playback ID is added: those that the asset had before. */
  readonly playbackIdsBefore?: readonly string[];
}

/** The IDs of the tracks of an imported asset's main file. */
export interface MainTrackIds {
  readonly video?: string;
  readonly audio?: string;
}

export interface StoredChapters {
  readonly id: string;
  /** Ordered by time; the first chapter starts at 0. */
  readonly chapters: readonly { readonly start_time: number; readonly title: string }[];
}

export type RunStatus = 'pending' | 'dispatching' | 'running' | 'waiting' | 'completed' | 'partial' | 'errored';

/** The state of one of the directive's resources in a run. */
export interface RunResource {
  readonly reference_id: string;
  readonly state: 'waiting' | 'ready' | 'failed';
  /** The track of this resource, once it is known. */
  readonly track_id?: string;
  readonly reason?: string;
}

/** The state of one of the directive's workflows in a run. */
export interface RunNode {
  readonly reference_id: string;
  readonly workflow: string;
  readonly state: 'waiting_for_resources' | 'waiting_for_source_workflow' | 'dispatched' | 'failed';
  /** Workflows that must end before this one. */
  readonly sources?: readonly string[];
  readonly job_id?: string;
  readonly reason?: string;
}

export type RobotsJobStatus = 'pending' | 'processing' | 'completed' | 'errored' | 'cancelled';

/** The error as shown to API callers. */
export interface RobotsJobError {
  readonly type: string;
  readonly message: string;
  readonly retryable: boolean;
}

/** A stored part of an upload. */
export interface TransferPart {
  readonly number: number;
  readonly etag: string;
}

/** An object with bytes of an upload that don't fill a part. */
export interface TransferTail {
  readonly key: string;
  readonly bytes: number;
}

/** What one connection of an encoder, or a slate between two, adds to a recording. */
export interface RecordingTime {
  /** ISO 8601. */
  readonly started_at: string;
  /** In seconds; absent while it grows. */
  readonly duration?: number;
  readonly type: 'content' | 'slate';
}

type CaptionChannelName = 'cc1' | 'cc2' | 'cc3' | 'cc4';

/** Captions inside the video of a live stream (CEA-608). */
export interface EmbeddedSubtitles {
  readonly name?: string;
  readonly passthrough?: string;
  readonly language_code?: string;
  readonly language_channel?: CaptionChannelName;
}

/** Subtitles to recognize in a live stream. */
export interface LiveSubtitles {
  readonly name?: string;
  readonly passthrough?: string;
  readonly language_code?: string;
  readonly transcription_vocabulary_ids?: readonly string[];
}

/** A playback ID of an upload that plays before it is complete. */
/** Whether an asset could be played before its file was stored. */
export type EarlyPlayback =
  | { readonly status: 'played' }
  /** Why not, or why not until the file was stored. */
  | { readonly status: 'ended' | 'stored_first'; readonly reason: string };

export interface EarlyPlaybackId {
  readonly id: string;
  readonly policy: 'public' | 'signed' | 'drm';
}

export type UploadStatus = 'waiting' | 'asset_created' | 'cancelled' | 'errored' | 'timed_out';
export type KeySourceKind = 'local' | 'static' | 'cpix';
/** Media time that was played: from, to; milliseconds. */
export type ViewRange = [from: number, to: number];
/** Times are milliseconds since 1970, playheads milliseconds of media time. */
export type ViewEvent = [name: string, time: number, playhead: number, details: Record<string, unknown> | null];

export type VideoQuality = 'basic' | 'plus' | 'premium';
export type Row<T extends keyof Schema> = Selectable<Schema[T]>;
export type NewRow<T extends keyof Schema> = Insertable<Schema[T]>;
