import { type ErrorCode, isKinoraError, KinoraError } from '../../lib/errors.js';
import { asUnavailable } from '../../lib/unavailable.js';

export interface ErrorResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body:
    | { readonly error: { readonly type: string; readonly messages: readonly string[] } }
    | { readonly error: { readonly type: string; readonly message: string } }
    | { readonly errors: readonly string[] };
}

const RETRY_AFTER_SECONDS: Readonly<Partial<Record<ErrorCode, string>>> = {
  unavailable: '2',
  upload_busy: '2',
  too_many_requests: '1',
};

export const errorHeaders = ({ code }: KinoraError): Readonly<Record<string, string>> => {
  // Clients retry conflicts by default, but another try would fail too.
  if (code === 'conflict') return { 'x-should-retry': 'false' };
  const seconds = RETRY_AFTER_SECONDS[code];
  return seconds === undefined ? {} : { 'Retry-After': seconds };
};

/**
 * The API's response to any failure. Failures that are not meant for callers become an internal
 * error without a cause.
 */
export const errorResponse = (error: unknown): ErrorResponse => {
  const shown = toKinoraError(error);
  return {
    status: shown.status,
    headers: errorHeaders(shown),
    // The only failure with a different shape.
    body:
      shown.code === 'too_many_requests'
        ? { errors: shown.messages }
        : { error: { type: shown.type, messages: shown.messages } },
  };
};

/** Failures that look the same everywhere, because they occur before the path is interpreted. */
const COMMON: readonly ErrorCode[] = ['unauthorized', 'too_many_requests'];

/** The same for the Robots API, whose errors have one message. */
export const robotsErrorResponse = (error: unknown): ErrorResponse => {
  const shown = toKinoraError(error);
  if (COMMON.includes(shown.code)) return errorResponse(shown);
  const message = shown.code === 'forbidden' ? 'Forbidden' : shown.message;
  return { status: shown.status, headers: errorHeaders(shown), body: { error: { type: shown.type, message } } };
};

const FRAMEWORK_ERRORS: Readonly<Record<string, () => KinoraError>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: () => new KinoraError('payload_too_large'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => new KinoraError('unsupported_media_type'),
  // The body is shorter or longer than declared, so it is not what the caller meant.
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new KinoraError('invalid_parameters', { messages: ['Request body does not have the declared length'] }),
};

/**
 * An error whose status, type and messages may be shown; anything unknown is a defect of Kinora.
 */
export const toKinoraError = (error: unknown): KinoraError => {
  const shown = asUnavailable(error);
  if (isKinoraError(shown)) return shown.status === 499 ? new KinoraError('unavailable', { cause: shown }) : shown;
  const ofFramework = FRAMEWORK_ERRORS[errorCode(error) ?? ''];
  return ofFramework ? ofFramework() : new KinoraError('internal_error', { cause: error });
};

const errorCode = (error: unknown): string | undefined => {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
};
