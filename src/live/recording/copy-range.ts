import { KinoraError } from '../../lib/errors.js';
import type { TrackKind } from '../../media/live/live-segmenter.js';
import { decodingStart, type LiveSegment } from '../../media/live/live-track.js';
import {
  findPartIndex,
  type PartRecord,
  writeFact,
  writePartHead,
  writeRecordingStart,
  writeRecordsEnd,
} from '../../media/live/recording-format.js';
import { writeRecordingMovie } from '../../media/live/recording-movie.js';
import { listBoxes } from '../../media/mp4/box-reader.js';
import { readFragmentIndexes } from '../../media/mp4/progressive.js';
import { readFragment } from '../../media/mp4/read-cmaf.js';
import type { LocalWrite } from '../../storage/blob-store.js';
import type { CutAudioConfig, CutVideoConfig } from './packet-cutter.js';
import type { RecordedTrack } from './recorded-track.js';
import type { RecordedTracks } from './recorded-tracks.js';

/** In seconds on the timeline of the recording. */
export interface TimeRange {
  readonly startSeconds: number;
  readonly endSeconds: number;
}

interface CopiedTrack {
  readonly kind: TrackKind;
  readonly track: RecordedTrack;
  readonly segments: readonly LiveSegment[];
}

/** Frames are decoded this much before or after they are shown, at most. */
const MAX_REORDER_SECONDS = 1;

/**
 * Writes the segments with a range of a recording as a recording of its own, an ordinary MP4, and
 * commits it. Returns the second of the recording that is zero in the file: a whole number, so that
 * the times of both tracks stay exact.
 */
export const copyRange = async (tracks: RecordedTracks, range: TimeRange, write: LocalWrite): Promise<number> => {
  const copied = tracks.kinds.map((kind): CopiedTrack => {
    const track = tracks.of(kind)!;
    return { kind, track, segments: segmentsOf(track, range) };
  });
  const starts = copied.flatMap(({ track, segments: [first] }) =>
    first ? [first.startTicks / track.state.info.timescale] : [],
  );
  const originSeconds = Math.floor(Math.min(range.startSeconds, ...starts));
  await write.restart();
  await write.write(writeRecordingStart());
  for (const [number, config] of tracks.videoConfigs.entries())
    if (config) await write.write(writeVideoConfig(number, config));
  for (const [number, config] of tracks.audioConfigs.entries())
    if (config) await write.write(writeAudioConfig(number, config));
  const numbers = new Set(copied.flatMap(({ segments }) => segments.map(({ number }) => number)));
  for (const number of [...numbers].sort((a, b) => a - b))
    for (const { kind, track, segments } of copied) {
      const segment = segments.find((each) => each.number === number);
      const originTicks = originSeconds * track.state.info.timescale;
      if (segment) await copySegment(write, { kind, track, segment, originTicks });
    }
  await write.flush();
  const recordsEnd = write.offsetBytes;
  const movie = await writeRecordingMovie((offset, length) => write.read(offset, length), recordsEnd);
  if (!movie) throw new KinoraError('internal_error', { details: { stage: 'a range of a recording without frames' } });
  await write.write(movie.bytes);
  const { offset, bytes } = writeRecordsEnd(recordsEnd);
  await write.patch(offset, bytes);
  await write.commit();
  return originSeconds;
};

/** Those with the frames that are shown in the range, also with what these need to be decoded. */
const segmentsOf = ({ state }: RecordedTrack, { startSeconds, endSeconds }: TimeRange): LiveSegment[] => {
  const { segments, info } = state;
  const startTicks = (startSeconds - MAX_REORDER_SECONDS) * info.timescale;
  const endTicks = (endSeconds + MAX_REORDER_SECONDS) * info.timescale;
  const shown = segments.findLastIndex((segment) => !segment.gap && segment.startTicks <= startTicks);
  return segments
    .slice(decodingStart(segments, Math.max(shown, 0)))
    .filter((segment) => !segment.gap && segment.startTicks < endTicks);
};

interface CopiedSegment extends Pick<CopiedTrack, 'kind' | 'track'> {
  readonly segment: LiveSegment;
  readonly originTicks: number;
}

const copySegment = async (write: LocalWrite, { kind, track, segment, originTicks }: CopiedSegment): Promise<void> => {
  const { number, config, wallMs, complete, parts } = segment;
  let count = 0;
  const copy = async (bytes: Uint8Array): Promise<void> => {
    for (const fragment of fragmentsOf(bytes)) {
      const part: PartRecord = {
        ...{ track: kind, segment: number, part: count, config, wallMs },
        ...timesOf(fragment, originTicks),
        independent: count === 0 && segment.independent,
        open: count === 0 && segment.open === true,
        discontinuity: count === 0 && segment.discontinuity,
      };
      await write.write(writePartHead(part, fragment.length));
      await write.write(fragment);
      count += 1;
    }
  };
  // It may have become complete, with more parts, after the segments were listed.
  const whole = complete ? await track.read(number, undefined) : undefined;
  if (whole) await copy(whole);
  else for (const part of parts.keys()) await copy((await track.read(number, part)) ?? new Uint8Array());
};

/** Each part is a `styp`, a `moof` and an `mdat`. */
const fragmentsOf = (bytes: Uint8Array): Uint8Array[] => {
  const starts = (listBoxes(bytes) ?? []).filter(({ type }) => type === 'styp').map(({ start }) => start);
  return starts.map((start, at) => bytes.subarray(start, starts[at + 1]));
};

const timesOf = (fragment: Uint8Array, originTicks: number): Pick<PartRecord, 'startTicks' | 'durationTicks'> => {
  const [samples] = readFragmentIndexes(findPartIndex(fragment)!.index);
  return {
    startTicks: readFragment(fragment, 0).samples[0]!.decodeTicks - originTicks,
    durationTicks: samples!.durations.reduce((sum, ticks) => sum + ticks, 0),
  };
};

export const writeVideoConfig = (number: number, config: CutVideoConfig): Uint8Array => {
  const { facts, reorderTicks, frameRate, isSlate } = config;
  const record = Buffer.from(facts.record).toString('base64');
  const fact = { type: 'video-config', config: number, codec: facts.codec, record, reorderTicks } as const;
  return writeFact({ ...fact, ...(frameRate && { frameRate }), ...(isSlate && { slate: true as const }) });
};

export const writeAudioConfig = (number: number, { facts, timescale }: CutAudioConfig): Uint8Array =>
  writeFact({
    type: 'audio-config',
    config: number,
    record: Buffer.from(facts.record).toString('base64'),
    timescale,
  });
