import { statSync, writeFileSync } from 'node:fs';
import { AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AVERROR_EOF } from 'node-av/constants';
import { readCaptionPairs } from '../../media/captions/caption-data.js';
import { CaptionDecoder } from '../../media/captions/caption-decoder.js';
import { indexCues } from '../../media/text/text-index.js';
import type { ClosedCaptionsJob, EmbeddedTextResult } from '../../pool/protocol.js';
import { NO_PTS, newPacket } from '../ffmpeg/av.js';
import { openSource, readOnly, readPacket } from '../ffmpeg/open-source.js';
import type { HandlerContext } from '../ipc/serve-jobs.js';

const CODECS: ReadonlyMap<number, 'avc' | 'hevc'> = new Map([
  [AV_CODEC_ID_H264, 'avc'],
  [AV_CODEC_ID_HEVC, 'hevc'],
]);
const MAX_READ_ERRORS = 20;
const PROGRESS_PACKETS = 2000;
/** Of each channel: many times the text of the longest broadcast. */
const MAX_CHARACTERS = 4 * 2 ** 20;

/** Reads the captions of all channels in one pass through the file. */
export const readClosedCaptions = (job: ClosedCaptionsJob, context: HandlerContext): EmbeddedTextResult => {
  const sizeBytes = Math.max(statSync(job.source.path).size, 1);
  const decoder = new CaptionDecoder(job.channels, MAX_CHARACTERS);
  const format = openSource(job.source);
  try {
    const video = format.streams.find(({ codecpar }) => CODECS.has(codecpar.codecId));
    const codec = video && CODECS.get(video.codecpar.codecId);
    if (video) readOnly(format, [video.index]);
    using packet = newPacket();
    let endSeconds = 0;
    let errors = 0;
    for (let packets = 1; video && codec && errors <= MAX_READ_ERRORS; packets += 1) {
      const code = readPacket(format, packet);
      if (code === AVERROR_EOF) break;
      if (code < 0) {
        errors += 1;
        continue;
      }
      const { data, pts, duration } = packet;
      if (packet.streamIndex === video.index && data && pts !== NO_PTS) {
        const { timeBase } = video;
        const seconds = (Number(pts) * timeBase.num) / timeBase.den - job.zeroSeconds;
        endSeconds = Math.max(endSeconds, seconds + (Number(duration) * timeBase.num) / timeBase.den);
        decoder.take(seconds, readCaptionPairs(codec, data));
      }
      if (packets % PROGRESS_PACKETS === 0 && packet.pos > 0n)
        context.progress(Math.min(Number(packet.pos) / sizeBytes, 1));
      packet.unref();
    }
    const files = decoder.finish(endSeconds).map((cues) => (cues.length > 0 ? indexCues(cues).bytes : Buffer.alloc(0)));
    writeFileSync(job.outPath, Buffer.concat(files));
    return { sizesBytes: files.map(({ length }) => length) };
  } finally {
    format.closeInputSync();
  }
};
