import type { RecordingFailure } from './recording/recording-writer.js';

/** What owners of live streams read in warnings. */

/** Why a recording ends; also shown by the encoder. */
export const FAILURES: Record<RecordingFailure, string> = {
  overload: 'The server can not keep up with the encoder.',
  disk_full: 'The disk of the server is full.',
  too_large: 'The recording is as large as the server allows.',
  error: 'The server can not record the live stream.',
  unreasonable: 'The encoder changes its times or its configuration again and again, or sends too much.',
};

/** @param targetSeconds the target duration */
export const keyFrameAdvice = (targetSeconds: number): string =>
  `The encoder sends no key frame for more than ${targetSeconds} s, so its video is encoded again for players. Set its key frame interval to 2 s.`;

/** @param reason why the video is not for every player */
export const playersAdvice = (reason: string): string =>
  `Not every player can play what the encoder sends: ${reason}. Set it to H.264 with the profile main, 4:2:0 and closed GOPs, and to AAC.`;

/** @param reason why the image can't be used, as a sentence */
export const slateImageProblem = (reason: string): string =>
  `The image of reconnect_slate_url can not be used, so the default slate is shown. ${reason}`;

const SIMULCAST_PROBLEMS: Readonly<Record<string, string>> = {
  codec_not_supported: 'SRT targets take H.264 or HEVC, and AAC. AV1 is sent by RTMP only.',
  url_not_usable:
    'Its URL or its stream key is not usable. RTMP needs a host, an application and a stream key, SRT a host and a port.',
  address_not_allowed:
    'Its address is not allowed. --allow-private-sources (KINORA_ALLOW_PRIVATE_SOURCES) allows private ones.',
};

/** @param code why the target gets nothing more; also in the log */
export const simulcastProblem = (targetId: string, code: string): string =>
  `The simulcast target ${targetId} gets nothing more of this broadcast. ${SIMULCAST_PROBLEMS[code] ?? `It has refused the stream several times (${code}).`}`;
