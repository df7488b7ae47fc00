import type { VideoConfigJob, VideoConfigResult } from '../../pool/protocol.js';
import { readEncoderConfig } from './fragment-encoder.js';

/**
 * Makes the avcC or av1C record of a rendition, which depends neither on the source nor on the
 * number of threads.
 */
export const encodeVideoConfig = ({ width, height, frameRate, encoder }: VideoConfigJob): VideoConfigResult => ({
  avcc: readEncoderConfig({ width, height, frameRate, encoder, timescale: 1, threads: 1 }).toString('base64'),
});
