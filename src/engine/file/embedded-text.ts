import { statSync, writeFileSync } from 'node:fs';
import { AV_PKT_DATA_WEBVTT_SETTINGS, AVERROR_EOF } from 'node-av/constants';
import type { Packet, Stream } from 'node-av/lib';
import { TextCollector } from '../../media/text/embedded-text.js';
import type { EmbeddedTextJob, EmbeddedTextResult } from '../../pool/protocol.js';
import { NO_PTS, newPacket } from '../ffmpeg/av.js';
import { openSource, readOnly, readPacket, streamAt } from '../ffmpeg/open-source.js';
import { codecNameOf } from '../ffmpeg/supported-media.js';
import type { HandlerContext } from '../ipc/serve-jobs.js';

const MAX_READ_ERRORS = 20;
const PROGRESS_PACKETS = 200;
/** Limit for all streams together, and for each: many times the text of the longest film. */
const MAX_CHARACTERS = 16 * 2 ** 20;
const MAX_STREAM_CHARACTERS = 4 * 2 ** 20;

/** Reads all of the streams in one pass through the file. */
export const readEmbeddedText = (job: EmbeddedTextJob, context: HandlerContext): EmbeddedTextResult => {
  const sizeBytes = Math.max(statSync(job.source.path).size, 1);
  const limit = Math.min(MAX_STREAM_CHARACTERS, Math.floor(MAX_CHARACTERS / job.streamIndexes.length));
  const format = openSource(job.source);
  try {
    const streams = new Map(
      job.streamIndexes.map((index) => {
        const stream = streamAt(format, index);
        return [index, { stream, texts: new TextCollector(codecNameOf(stream), limit) }];
      }),
    );
    readOnly(format, job.streamIndexes);
    using packet = newPacket();
    let errors = 0;
    for (let packets = 1; errors <= MAX_READ_ERRORS; packets += 1) {
      const code = readPacket(format, packet);
      if (code === AVERROR_EOF) break;
      if (code < 0) {
        errors += 1;
        continue;
      }
      const target = streams.get(packet.streamIndex);
      if (target) addPacket(target.texts, target.stream, packet, job.zeroSeconds);
      if (packets % PROGRESS_PACKETS === 0 && packet.pos > 0n)
        context.progress(Math.min(Number(packet.pos) / sizeBytes, 1));
      packet.unref();
    }
    const files = [...streams.values()].map(({ texts }) => Buffer.from(texts.finish()));
    writeFileSync(job.outPath, Buffer.concat(files));
    return { sizesBytes: files.map(({ length }) => length) };
  } finally {
    format.closeInputSync();
  }
};

const addPacket = (texts: TextCollector, { timeBase: { num, den } }: Stream, packet: Packet, zero: number): void => {
  if (packet.pts === NO_PTS || !packet.data) return;
  const settings = packet.getSideData(AV_PKT_DATA_WEBVTT_SETTINGS);
  texts.add({
    startSeconds: (Number(packet.pts) * num) / den - zero,
    durationSeconds: (Number(packet.duration) * num) / den,
    bytes: packet.data,
    ...(settings && { settings: settings.toString('utf8').replace(/[\0\s]+/g, ' ') }),
  });
};
