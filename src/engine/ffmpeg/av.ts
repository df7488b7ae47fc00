import { AV_LOG_QUIET, AV_NOPTS_VALUE, AVERROR_EAGAIN, AVERROR_EOF } from 'node-av/constants';
import { type CodecContext, FFmpegError, Frame, Log, Packet } from 'node-av/lib';
import { KinoraError } from '../../lib/errors.js';

// Failures are returned as error codes; the library's own lines on stderr only repeat them.
Log.setLevel(AV_LOG_QUIET);

/** Time stamp of a packet or frame that has none. */
export const NO_PTS: bigint = AV_NOPTS_VALUE;

/** @param code FFmpeg's error code */
export const failMedia = (operation: string, reason: string, code?: number): KinoraError =>
  new KinoraError('media_failed', { messages: [`${operation}: ${reason}`], details: { operation, reason, code } });

/**
 * Returns the code of a successful call. Throws `media_failed` with the name of the operation when
 * the code is negative.
 */
export const check = (code: number, operation: string): number => {
  if (code < 0) throw failMedia(operation, FFmpegError.strerror(code), code);
  return code;
};

/** "Nothing more for now" and "nothing more at all": the two ordinary ends of a receive loop. */
export const isDrained = (code: number): boolean => code === AVERROR_EAGAIN || code === AVERROR_EOF;

export const newPacket = (): Packet => {
  const packet = new Packet();
  packet.alloc();
  return packet;
};

export const newFrame = (): Frame => {
  const frame = new Frame();
  frame.alloc();
  return frame;
};

/** Returns a new reference to the same frame or samples. */
export const cloneFrame = (frame: Frame): Frame => {
  const clone = frame.clone();
  if (clone === null) throw failMedia('clone frame', 'out of memory');
  return clone;
};

/**
 * Sets codec options one by one before the codec is opened. (Options passed to `open2Sync` as a
 * dictionary are freed twice, which crashes the process at the next garbage collection.)
 */
export const setOptions = (context: CodecContext, options: Readonly<Record<string, string | number>>): void => {
  for (const [name, value] of Object.entries(options)) {
    check(context.setOption(name, String(value)), `option ${name}`);
  }
};
