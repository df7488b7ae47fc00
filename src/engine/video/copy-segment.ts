import { writeFileSync } from 'node:fs';
import { AV_PKT_FLAG_DISCARD, AVERROR_EOF, AVSEEK_FLAG_BACKWARD, AVSEEK_FLAG_BYTE } from 'node-av/constants';
import type { FormatContext, Packet } from 'node-av/lib';
import { hasSequenceHeader, withoutTemporalDelimiters } from '../../media/codecs/av1.js';
import { annexBToLengthPrefixed, withoutAccessUnitDelimiters } from '../../media/codecs/avc.js';
import { isIrapFrame, withoutHevcDelimiters } from '../../media/codecs/hevc.js';
import { writeFragment } from '../../media/mp4/cmaf.js';
import { planSampleTimes } from '../../media/plan/sample-times.js';
import type { MediaSource, VideoSegmentJob, VideoSegmentResult } from '../../pool/protocol.js';
import { check, failMedia, NO_PTS, newPacket } from '../ffmpeg/av.js';
import { OpenCache } from '../ffmpeg/open-cache.js';
import { openSource, readOnly, readPacket, streamAt } from '../ffmpeg/open-source.js';

interface Sample {
  readonly ticks: number;
  readonly data: Uint8Array;
  readonly sync: boolean;
}

/** A stream of an open file, and the packet that ended the previous segment. */
class PacketReader {
  readonly packet: Packet = newPacket();
  private readonly format: FormatContext;
  /** `packet` has been read but not used. */
  pending = false;

  constructor(
    source: MediaSource,
    private readonly streamIndex: number,
  ) {
    this.format = openSource(source);
    readOnly(this.format, [streamIndex]);
  }

  get extradata(): Buffer | null {
    return streamAt(this.format, this.streamIndex).codecpar.extradata;
  }

  /** Makes the first key packet at or after `pts` pending. */
  seek(pts: number, position: number | undefined): void {
    if (this.pending && this.packet.isKeyframe && Number(this.packet.pts) === pts) return;
    const { startTime } = streamAt(this.format, this.streamIndex);
    const target = startTime !== NO_PTS && Number(startTime) > pts ? startTime : BigInt(pts);
    const code =
      position === undefined
        ? this.format.seekFrameSync(this.streamIndex, target, AVSEEK_FLAG_BACKWARD)
        : this.format.seekFrameSync(-1, BigInt(position), AVSEEK_FLAG_BYTE);
    check(code, 'seek');
    this.drop();
    while (this.next()) {
      if (this.packet.isKeyframe && Number(this.packet.pts) >= pts) return;
      this.drop();
    }
    throw failMedia('copy segment', 'its key frame was not found');
  }

  /** False at the end of the file. */
  next(): boolean {
    while (!this.pending) {
      const code = readPacket(this.format, this.packet);
      if (code === AVERROR_EOF) return false;
      check(code, 'read packet');
      if (this.packet.streamIndex === this.streamIndex) this.pending = true;
      else this.packet.unref();
    }
    return true;
  }

  drop(): void {
    if (this.pending) this.packet.unref();
    this.pending = false;
  }

  close(): void {
    this.packet.free();
    this.format.closeInputSync();
  }
}

const readers = new OpenCache<PacketReader>(3);

/**
 * Copies the source's packets of [startTicks, endTicks), which begins with a key frame of a closed
 * GOP.
 */
export const copySegment = (job: VideoSegmentJob): VideoSegmentResult =>
  readers.use(
    [job.source.path, job.source.staged, job.streamIndex],
    () => new PacketReader(job.source, job.streamIndex),
    (reader) => {
      const samples = readSamples(job, reader);
      const times = planSampleTimes(
        samples.map(({ ticks }) => ticks),
        job.startTicks,
        job.endTicks,
        job.rendition.reorderTicks,
      );
      const bytes = writeFragment({
        sequence: job.sequence,
        baseDecodeTicks: job.startTicks,
        samples: samples.map(({ data, sync }, index) => ({ ...times[index]!, sizeBytes: data.length, sync })),
        data: samples.map(({ data }) => data),
      });
      writeFileSync(job.outPath, bytes);
      return { sizeBytes: bytes.length, sampleCount: samples.length, frameCount: samples.length };
    },
  );

const readSamples = (job: VideoSegmentJob, reader: PacketReader): Sample[] => {
  const { startTicks, endTicks, originTicks, timeBase, seekPoint } = job;
  const write = sampleWriter(reader.extradata, job.rendition.codec);
  const firstPts = Math.ceil((startTicks + originTicks) / timeBase.num);
  reader.seek(firstPts, seekPoint?.position);
  const samples: Sample[] = [];
  while (reader.next()) {
    const { pts, data, isKeyframe, flags } = reader.packet;
    if (pts === NO_PTS || data === null) throw failMedia('copy segment', 'a packet without time or data');
    const ticks = Number(pts) * timeBase.num - originTicks;
    if (isKeyframe && ticks >= endTicks) break;
    // The edit list ends before this frame.
    if ((flags & AV_PKT_FLAG_DISCARD) !== 0 && ticks >= endTicks) {
      reader.drop();
      continue;
    }
    if (ticks < startTicks || ticks >= endTicks) throw failMedia('copy segment', 'a frame lies outside');
    samples.push({
      ticks,
      data: write(data, samples.length === 0),
      sync: isKeyframe,
    });
    reader.drop();
  }
  return samples;
};

/**
 * From a packet to a sample: without what separates packets in other containers, and with 4-byte
 * lengths.
 */
const sampleWriter = (
  extradata: Buffer | null,
  codec: VideoSegmentJob['rendition']['codec'],
): ((packet: Buffer, isFirst: boolean) => Uint8Array) => {
  const begins = { hevc: isIrapFrame, av1: hasSequenceHeader };
  const strip = { hevc: withoutHevcDelimiters, av1: withoutTemporalDelimiters };
  if (codec)
    return (packet, isFirst) => {
      const sample = strip[codec](Uint8Array.from(packet));
      if (isFirst && !begins[codec](sample))
        throw failMedia('copy segment', 'decoding cannot start with its key frame');
      return sample;
    };
  const lengthPrefixed = extradata?.[0] === 1;
  if (lengthPrefixed && ((extradata[4] ?? 3) & 3) !== 3) throw failMedia('copy segment', 'lengths are not of 4 bytes');
  return (packet) =>
    lengthPrefixed ? withoutAccessUnitDelimiters(Uint8Array.from(packet)) : annexBToLengthPrefixed(packet);
};
