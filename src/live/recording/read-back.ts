import { LIVE_TIMESCALE } from '../../media/live/frame-grid.js';
import type { TrackKind } from '../../media/live/live-segmenter.js';
import {
  PART_HEAD_BYTES,
  type PartRecord,
  presentationEnd,
  type RecordingFact,
} from '../../media/live/recording-format.js';
import { scanRecording } from '../../media/live/scan-recording.js';
import { liveAudioInit, liveVideoInit, readLiveAudio, readLiveVideo } from '../../media/live/stream-facts.js';
import { rungName } from '../../media/plan/ladder.js';
import type { LocalWrite } from '../../storage/blob-store.js';
import type { CutAudioConfig, CutterStart, CutVideoConfig } from './packet-cutter.js';
import { RecordedTrack } from './recorded-track.js';

type ReadFile = (offset: number, length: number) => Promise<Uint8Array>;

/** What an unfinished recording holds. */
export interface RecordedSoFar {
  readonly firstSequence: number;
  readonly firstDiscontinuity: number;
  readonly nextSequence: number;
  /** If it was declared. */
  readonly targetSeconds: number | undefined;
  readonly tracks: Partial<Record<TrackKind, RecordedTrack>>;
  readonly cutterStart: CutterStart;
}

/**
 * Reads what an earlier process recorded and drops the record that it was writing when it ended.
 * Undefined when the file has no recording.
 * @param readFile for tracks, later
 */
export const readBack = async (write: LocalWrite, readFile: ReadFile): Promise<RecordedSoFar | undefined> => {
  const reader = new RecordReader(readFile);
  const end = await scanRecording((offset, length) => write.read(offset, length), write.offsetBytes, {
    fact: (fact) => reader.fact(fact),
    part: (part, offset, sizeBytes, bytes) => reader.part(part, offset, sizeBytes, bytes),
  });
  const soFar = reader.finish();
  if (soFar && end < write.offsetBytes) await write.truncate(end);
  return soFar;
};

class RecordReader {
  readonly tracks: Partial<Record<TrackKind, RecordedTrack>> = {};
  readonly #readFile: ReadFile;
  readonly #video: CutVideoConfig[] = [];
  readonly #audio: CutAudioConfig[] = [];
  /** When the last frame ends that viewers see. */
  #presentationEnd = 0;
  #start: Extract<RecordingFact, { type: 'start' }> | undefined;
  #targetSeconds: number | undefined;

  constructor(readFile: ReadFile) {
    this.#readFile = readFile;
  }

  fact(fact: RecordingFact): void {
    if (fact.type === 'start') this.#start = fact;
    else if (fact.type === 'target') this.#targetSeconds = fact.targetSeconds;
    else if (fact.type === 'empty') this.tracks[fact.track]?.addEmpty(fact);
    else if (fact.type === 'video-config') this.#addVideo(fact);
    else if (fact.type === 'audio-config') this.#addAudio(fact);
  }

  part(part: PartRecord, offset: number, sizeBytes: number, bytes: Uint8Array): void {
    this.tracks[part.track]?.add(part, offset + PART_HEAD_BYTES, sizeBytes - PART_HEAD_BYTES);
    if (part.track === 'audio') return;
    const { reorderTicks = 0 } = this.#video[part.config] ?? {};
    const end = presentationEnd(bytes.subarray(PART_HEAD_BYTES), part.startTicks, reorderTicks);
    this.#presentationEnd = Math.max(this.#presentationEnd, end);
  }

  finish(): RecordedSoFar | undefined {
    if (!this.#start) return undefined;
    const { firstSequence, firstDiscontinuity } = this.#start;
    const { video, audio } = this.tracks;
    for (const track of [video, audio]) track?.complete();
    const numbers = [video, audio].map((track) => track?.state.segments.at(-1)?.number ?? firstSequence - 1);
    return {
      firstSequence,
      firstDiscontinuity,
      nextSequence: Math.max(...numbers) + 1,
      targetSeconds: this.#targetSeconds,
      tracks: this.tracks,
      cutterStart: {
        videoTicks: Math.max(video?.endTicks ?? 0, this.#presentationEnd),
        audioTicks: audio?.endTicks ?? 0,
        ...(audio && { audioTimescale: audio.state.info.timescale }),
        video: this.#video,
        audio: this.#audio,
      },
    };
  }

  #addVideo(fact: Extract<RecordingFact, { type: 'video-config' }>): void {
    const { config, codec, record, reorderTicks, frameRate } = fact;
    const facts = readLiveVideo(codec, Buffer.from(record, 'base64'));
    if (!facts) return;
    const { codecs, width, height } = facts;
    this.#video[config] = { facts, reorderTicks, frameRate };
    this.tracks.video ??= new RecordedTrack(
      { name: rungName(facts), kind: 'video', timescale: LIVE_TIMESCALE, codecs, bandwidth: 0, width, height },
      this.#readFile,
    );
    this.tracks.video.inits[config] = liveVideoInit(facts, reorderTicks);
    const rate = frameRate && { frameRate: frameRate.num / frameRate.den };
    this.tracks.video.update({ codecs, width, height, ...rate });
  }

  #addAudio({ config, record, timescale }: Extract<RecordingFact, { type: 'audio-config' }>): void {
    const facts = readLiveAudio(Buffer.from(record, 'base64'));
    if (!facts) return;
    const { codecs, channels } = facts;
    this.#audio[config] = { facts, timescale };
    this.tracks.audio ??= new RecordedTrack(
      { name: 'audio', kind: 'audio', timescale, codecs, bandwidth: 0, channels },
      this.#readFile,
    );
    this.tracks.audio.inits[config] = liveAudioInit(facts, timescale);
    this.tracks.audio.update({ codecs, channels });
  }
}
