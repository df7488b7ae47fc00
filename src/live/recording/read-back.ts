import {
  type EmptyRecord,
  PART_HEAD_BYTES,
  type PartRecord,
  presentationEnd,
  type RecordingFact,
  readFact,
  readRecordHead,
} from '../../media/live/recording-format.js';
import { type RecordingVisitor, scanRecording } from '../../media/live/scan-recording.js';
import { readLiveAudio, readLiveVideo } from '../../media/live/stream-facts.js';
import type { VideoFacts } from '../../media/source/source-facts.js';
import type { LocalWrite } from '../../storage/blob-store.js';
import type { CutAudioConfig, CutterStart, CutVideoConfig } from './packet-cutter.js';
import type { ReadFile } from './recorded-track.js';
import { RecordedTracks } from './recorded-tracks.js';
import { REORDERED_PARTS } from './replica.js';
import type { IndexRecord, ReplicaIndex } from './replica-index.js';

/** Parts of segments that are further from the end are not listed. */
const MAX_TARGET_SECONDS = 10;

/**
 * Segments that viewers may have seen, but that are not in the file. Gaps take their numbers:
 * hls.js fails when a segment that it knows becomes another one.
 */
export interface LostSegments {
  readonly count: number;
  /** Of each. */
  readonly seconds: number;
}

const NOTHING_LOST: LostSegments = { count: 0, seconds: 0 };

export interface ReadBackOptions {
  /** Also where the file lacks bytes. */
  readonly read: ReadFile;
  /** The records at the start, from the index of the replica. The file is read behind them. */
  readonly indexed?: readonly IndexRecord[];
  readonly lost?: LostSegments;
  /** Gets the records that are read. */
  readonly index?: ReplicaIndex | undefined;
}

/** What an unfinished recording holds. */
export interface RecordedSoFar {
  readonly firstSequence: number;
  readonly firstDiscontinuity: number;
  readonly nextSequence: number;
  /** Wall clock of the first frame of the last session; undefined without one. */
  readonly sessionStartMs: number | undefined;
  /** If it was declared. */
  readonly targetSeconds: number | undefined;
  /** If it was probed. */
  readonly video: VideoFacts | undefined;
  readonly tracks: RecordedTracks;
  /** Segments that only the other track has begun. The tracks have them, the file does not yet. */
  readonly missing: readonly EmptyRecord[];
  /** Where the last part ends that belongs to no slate; 0 without one. */
  readonly contentEndBytes: number;
  readonly cutterStart: CutterStart;
}

/**
 * Reads what an earlier process recorded and drops the record that it was writing when it ended.
 * Undefined when the file has no recording.
 * @param readFile for tracks, later
 */
export const readBack = async (
  write: LocalWrite,
  readFile: ReadFile,
  { read, indexed = [], lost = NOTHING_LOST, index }: ReadBackOptions,
): Promise<RecordedSoFar | undefined> => {
  const reader = new RecordReader(readFile);
  for (const record of indexed) reader.indexed(record);
  const visitor: RecordingVisitor = {
    fact: (fact, bytes) => {
      reader.fact(fact);
      index?.append(bytes, bytes.length);
    },
    part: (part, offset, sizeBytes, bytes) => {
      reader.part(part, offset, sizeBytes, bytes);
      index?.append(bytes.subarray(0, PART_HEAD_BYTES), sizeBytes);
    },
  };
  const end = await scanRecording(read, write.offsetBytes, visitor, endOf(indexed));
  const soFar = reader.finish(lost);
  if (soFar && end < write.offsetBytes) await write.truncate(end);
  return soFar;
};

/** Where the last one of `records` ends; 0 without one. */
export const endOf = (records: readonly IndexRecord[]): number => {
  const last = records.at(-1);
  return last ? last.offset + last.sizeBytes : 0;
};

class RecordReader {
  readonly #tracks: RecordedTracks;
  readonly #video: CutVideoConfig[] = [];
  readonly #audio: CutAudioConfig[] = [];
  /** The newest parts of video, from the oldest to the last. */
  #newest: { readonly part: PartRecord; readonly fragment: Uint8Array }[] = [];
  #isSlate = false;
  #sessionStartMs: number | undefined;
  #contentEndBytes = 0;
  #start: Extract<RecordingFact, { type: 'start' }> | undefined;
  #targetSeconds: number | undefined;
  #probed: VideoFacts | undefined;

  constructor(readFile: ReadFile) {
    this.#tracks = new RecordedTracks(readFile);
  }

  fact(fact: RecordingFact): void {
    if (fact.type === 'start') this.#start = fact;
    else if (fact.type === 'session') {
      this.#isSlate = fact.kind === 'slate';
      this.#sessionStartMs = undefined;
    } else if (fact.type === 'probed') this.#probed = fact.video;
    else if (fact.type === 'takeover') this.#tracks.takeOver(fact.version);
    else if (fact.type === 'target') this.#targetSeconds = fact.targetSeconds;
    else if (fact.type === 'empty') this.#tracks.of(fact.track)?.addEmpty(fact);
    else if (fact.type === 'video-config') this.#addVideo(fact);
    else if (fact.type === 'audio-config') this.#addAudio(fact);
  }

  indexed({ offset, sizeBytes, bytes }: IndexRecord): void {
    const head = readRecordHead(bytes);
    if (head?.kind === 'part') this.part(head.part, offset, sizeBytes, bytes);
    const fact = head?.kind === 'fact' ? readFact(bytes) : undefined;
    if (fact) this.fact(fact);
  }

  part(part: PartRecord, offset: number, sizeBytes: number, bytes: Uint8Array): void {
    this.#tracks.of(part.track)?.add(part, offset + PART_HEAD_BYTES, sizeBytes - PART_HEAD_BYTES);
    this.#sessionStartMs ??= part.wallMs;
    if (!this.#isSlate) this.#contentEndBytes = offset + sizeBytes;
    if (part.track === 'audio' || bytes.length <= PART_HEAD_BYTES) return;
    this.#newest.push({ part, fragment: bytes.subarray(PART_HEAD_BYTES) });
    if (this.#newest.length > REORDERED_PARTS) this.#newest.shift();
  }

  /** When the last frame ends that viewers see. */
  #presentationEnd(): number {
    const ends = this.#newest.map(({ part, fragment }) =>
      presentationEnd(fragment, part.startTicks, this.#video[part.config]?.reorderTicks ?? 0),
    );
    return Math.max(0, ...ends);
  }

  finish(lost: LostSegments): RecordedSoFar | undefined {
    if (!this.#start) return undefined;
    const { firstSequence, firstDiscontinuity } = this.#start;
    const { all } = this.#tracks;
    for (const track of all) {
      track.complete();
      track.trim(this.#targetSeconds ?? MAX_TARGET_SECONDS, Number.POSITIVE_INFINITY);
    }
    const missing = [...this.#addMissing(), ...this.#addLost(lost)];
    const [video, audio] = [this.#tracks.of('video'), this.#tracks.of('audio')];
    return {
      firstSequence,
      firstDiscontinuity,
      nextSequence: Math.max(firstSequence, ...all.map(({ nextNumber }) => nextNumber ?? 0)),
      sessionStartMs: this.#sessionStartMs,
      targetSeconds: this.#targetSeconds,
      video: this.#probed,
      tracks: this.#tracks,
      missing,
      contentEndBytes: this.#contentEndBytes,
      cutterStart: {
        videoTicks: Math.max(video?.endTicks ?? 0, this.#presentationEnd()),
        audioTicks: audio?.endTicks ?? 0,
        ...(audio && { audioTimescale: audio.state.info.timescale }),
        video: this.#video,
        audio: this.#audio,
      },
    };
  }

  /**
   * The process ended between the parts of a segment: the segments of a track follow each other
   * without a hole.
   */
  #addMissing(): EmptyRecord[] {
    const { kinds } = this.#tracks;
    return kinds.flatMap((kind) => {
      const track = this.#tracks.of(kind)!;
      const { timescale } = track.state.info;
      const next = track.nextNumber ?? Number.POSITIVE_INFINITY;
      const others = kinds.filter((other) => other !== kind).map((other) => this.#tracks.of(other)!);
      return others.flatMap((other) =>
        other.after(next - 1).map(({ segment, startTicks: start, durationTicks: duration, discontinuity, wallMs }) => {
          const toTicks = (ticks: number): number => Math.round((ticks * timescale) / other.state.info.timescale);
          const startTicks = discontinuity ? toTicks(start) : track.endTicks;
          const durationTicks = Math.max(0, toTicks(start + duration) - startTicks);
          const record = { track: kind, segment, startTicks, durationTicks, discontinuity, wallMs };
          track.addEmpty(record);
          return record;
        }),
      );
    });
  }

  #addLost({ count, seconds }: LostSegments): EmptyRecord[] {
    const { kinds } = this.#tracks;
    const tracks = kinds.map((kind) => ({ kind, track: this.#tracks.of(kind)! }));
    const baseSeconds = Math.max(0, ...tracks.map(({ track }) => track.endTicks / track.state.info.timescale));
    return tracks.flatMap(({ kind, track }) => {
      const { segments, info } = track.state;
      const last = segments.at(-1);
      if (!last || track.nextNumber === undefined) return [];
      const first = track.nextNumber;
      return Array.from({ length: count }, (_, at) => {
        const startTicks = track.endTicks;
        const durationTicks = Math.round((baseSeconds + (at + 1) * seconds) * info.timescale) - startTicks;
        const wallMs = last.wallMs + ((startTicks - last.startTicks) * 1000) / info.timescale;
        const record = { track: kind, segment: first + at, startTicks, durationTicks, discontinuity: false, wallMs };
        track.addEmpty(record);
        return record;
      });
    });
  }

  #addVideo(fact: Extract<RecordingFact, { type: 'video-config' }>): void {
    const { config, codec, record, reorderTicks, frameRate, slate: isSlate = false } = fact;
    const facts = readLiveVideo(codec, Buffer.from(record, 'base64'));
    if (!facts) return;
    this.#video[config] = { facts, reorderTicks, frameRate, isSlate };
    this.#tracks.addVideoConfig(config, this.#video[config]);
  }

  #addAudio({ config, record, timescale }: Extract<RecordingFact, { type: 'audio-config' }>): void {
    const facts = readLiveAudio(Buffer.from(record, 'base64'));
    if (!facts) return;
    this.#audio[config] = { facts, timescale };
    this.#tracks.addAudioConfig(config, this.#audio[config]);
  }
}
