/**
 * The only error class of Kinora, and its registry. A failure has three audiences: the caller
 * (`messages`, wire type and status), the operator (`cause` chain and `details` in the log) and the
 * program (`code`).
 */

/** How a failed job is treated: see `jobs/` and the queue runner. */
export type FailureClass = 'retry' | 'fail' | 'defect';

interface ErrorKind {
  readonly status: number;
  /** `error.type` of the Video API body (reference errors-and-pagination.md 3.1). */
  readonly type: string;
  readonly message: string;
  readonly failure: FailureClass;
}

const kind = (status: number, type: string, message: string, failure: FailureClass = 'fail'): ErrorKind => ({
  status,
  type,
  message,
  failure,
});

export const errorRegistry = {
  invalid_parameters: kind(400, 'invalid_parameters', 'Invalid parameters'),
  unauthorized: kind(401, 'unauthorized', 'Unauthorized request'),
  forbidden: kind(403, 'forbidden', 'The access token does not have permission for this operation'),
  not_found: kind(404, 'not_found', "The requested resource either doesn't exist or you don't have access to it."),
  /** The request contradicts work in progress. */
  conflict: kind(409, 'conflict', 'Conflict'),
  method_not_allowed: kind(405, 'method_not_allowed', 'Method not allowed'),
  /** Playback of an asset that is preparing or errored. */
  asset_not_ready: kind(412, 'asset_not_ready', 'Asset is not ready'),
  range_not_satisfiable: kind(416, 'range_not_satisfiable', 'Range Not Satisfiable'),
  /** The resource has ended and accepts nothing more. */
  gone: kind(410, 'gone', 'This upload is no longer accepting data.'),
  request_timeout: kind(408, 'request_timeout', 'The request did not arrive in time'),
  payload_too_large: kind(413, 'payload_too_large', 'Request body is too large'),
  unsupported_media_type: kind(415, 'unsupported_media_type', 'Content-Type must be application/json'),
  headers_too_large: kind(431, 'headers_too_large', 'Request headers are too large'),
  too_many_requests: kind(429, 'too_many_requests', 'Too many requests, retry later.', 'retry'),
  internal_error: kind(500, 'internal_error', 'Internal server error', 'defect'),
  unavailable: kind(503, 'unavailable', 'Service temporarily unavailable', 'retry'),
  /** A license server or key service answered, but without the requested result. */
  upstream_refused: kind(502, 'unavailable', 'The license service refused the request', 'retry'),
  /** An upload has one writer at a time; the sender of the second one tries again. */
  upload_busy: kind(503, 'unavailable', 'Another request is sending data.', 'retry'),
  /**
   * The input of an asset can't be used; `messages` are shown to the caller in the asset's
   * `errors`.
   */
  invalid_input: kind(400, 'invalid_input', 'The input file is not a valid video file.'),
  /** A network failure while fetching a source; retried before it becomes `invalid_input`. */
  source_unreachable: kind(502, 'invalid_input', 'The input file could not be downloaded: connection failed.', 'retry'),
  /** FFmpeg reported an error for this input. */
  media_failed: kind(500, 'internal_error', 'The media operation failed', 'fail'),
  /**
   * The media process died (signal, memory limit) or exceeded its deadline; crashes are counted per
   * source and limited.
   */
  media_crashed: kind(500, 'internal_error', 'The media process crashed', 'defect'),
  /**
   * A job needs a part of a source that is not stored yet; `details.missing` are its `ByteRanges`.
   */
  range_missing: kind(503, 'unavailable', 'A part of the source is missing', 'retry'),
  /** The file at a URL has changed. */
  source_changed: kind(502, 'invalid_input', 'The input file changed while it was read.', 'retry'),
  /**
   * A speech recognizer refused, failed or returned an invalid result; `messages` are shown to the
   * owner of the track.
   */
  speech_failed: kind(500, 'internal_error', 'Speech recognition failed.', 'defect'),
  /** A workflow needs a language model, and none is configured. */
  provider_unavailable: kind(500, 'provider_unavailable', 'No provider is configured for this workflow.'),
  /** The language model did not answer, or not in a usable form. */
  provider_failed: kind(502, 'provider_error', 'The provider could not be reached.'),
  /** Nobody waits for the result any more. */
  cancelled: kind(499, 'internal_error', 'Cancelled', 'defect'),
  data_dir_in_use: kind(500, 'internal_error', 'The data directory is in use by another process'),
  config_invalid: kind(500, 'internal_error', 'The configuration is invalid'),
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof errorRegistry;

export interface KinoraErrorOptions {
  /** Messages for the caller; the default is the registry's message. */
  messages?: readonly string[];
  cause?: unknown;
  /** For the operator's log only: IDs, stage, sizes. Never secrets. */
  details?: Record<string, unknown>;
  /** Overrides the registry's class for job retry decisions. */
  failure?: FailureClass;
}

export class KinoraError extends Error {
  readonly code: ErrorCode;
  readonly messages: readonly string[];
  readonly details: Record<string, unknown> | undefined;
  readonly failure: FailureClass;

  constructor(code: ErrorCode, options: KinoraErrorOptions = {}) {
    const messages = options.messages ?? [errorRegistry[code].message];
    super(messages.join('; '), { cause: options.cause });
    this.name = 'KinoraError';
    this.code = code;
    this.messages = messages;
    this.details = options.details;
    this.failure = options.failure ?? errorRegistry[code].failure;
  }

  get status(): number {
    return errorRegistry[this.code].status;
  }

  get type(): string {
    return errorRegistry[this.code].type;
  }
}

/** For a request that can't be fulfilled. */
export const invalidParameters = (message: string): KinoraError =>
  new KinoraError('invalid_parameters', { messages: [message] });

export const isKinoraError = (error: unknown, code?: ErrorCode): error is KinoraError =>
  error instanceof KinoraError && (code === undefined || error.code === code);
