import type { EmbeddedSubtitles, LiveSubtitles, Row } from '../../db/schema.js';
import type { AssetRequest, NewPlaybackId } from './asset-request.js';

export type { EmbeddedSubtitles, LiveSubtitles } from '../../db/schema.js';
export type LatencyMode = Row<'live_stream'>['latency_mode'];

/** Columns of a live stream that its owner sets and changes, as a request gives them. */
export interface LiveStreamUpdate {
  readonly latencyMode?: LatencyMode | undefined;
  /** In seconds; null returns to the default of the latency mode. */
  readonly reconnectWindow?: number | undefined;
  readonly useSlate?: boolean | undefined;
  /** An empty text removes it, as below. */
  readonly slateUrl?: string | undefined;
  /** In seconds. */
  readonly maxContinuousDuration?: number | undefined;
  readonly passthrough?: string | undefined;
  readonly meta?: Readonly<Record<string, string>> | undefined;
  /** Fields to change; the others stay. */
  readonly newAssetSettings?: Readonly<Record<string, unknown>> | undefined;
}

export interface NewSimulcastTarget {
  readonly url: string;
  readonly stream_key?: string | undefined;
  readonly passthrough?: string | undefined;
}

/** A valid request for a live stream, with defaults filled in. */
export interface LiveStreamRequest extends LiveStreamUpdate {
  readonly latencyMode: LatencyMode;
  /** The body as the caller wrote it. */
  readonly body: unknown;
  readonly playbackPolicies: readonly NewPlaybackId[];
  /** The field of the body that each of `playbackPolicies` with a configuration comes from. */
  readonly advancedOffset: number;
  readonly audioOnly: boolean;
  readonly test: boolean;
  readonly embeddedSubtitles: readonly EmbeddedSubtitles[];
  readonly generatedSubtitles: readonly LiveSubtitles[];
  readonly simulcastTargets: readonly NewSimulcastTarget[];
  /** The asset that each broadcast makes. */
  readonly asset: AssetRequest;
}
