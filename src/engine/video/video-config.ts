import type { VideoConfigJob, VideoConfigResult } from '../../pool/protocol.js';
import { readEncoderConfig } from './fragment-encoder.js';

/** The avcC record of a rendition: neither the source nor the number of threads changes it. */
export const makeVideoConfig = ({ width, height, frameRate, encoder }: VideoConfigJob): VideoConfigResult => ({
  avcc: readEncoderConfig({ width, height, frameRate, encoder, timescale: 1, threads: 1 }).toString('base64'),
});
