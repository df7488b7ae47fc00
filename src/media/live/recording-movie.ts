import { joinAvccs } from '../codecs/avc-parameter-sets.js';
import { type MovieTrack, writeMovie } from '../mp4/movie-writer.js';
import { readFragmentIndexes } from '../mp4/progressive.js';
import { readVideoInit } from '../mp4/read-cmaf.js';
import { SampleTables } from '../mp4/sample-table-writer.js';
import type { ReadRange } from '../mp4/sample-tables.js';
import type { TrackKind } from './live-segmenter.js';
import { findPartIndex, PART_HEAD_BYTES, type PartRecord, type RecordingFact } from './recording-format.js';
import { scanRecording } from './scan-recording.js';
import { type LiveVideoFacts, liveAudioInit, liveVideoInit, readLiveAudio, readLiveVideo } from './stream-facts.js';

interface Config {
  readonly reorderTicks: number;
  readonly description: Description;
  /** Of the sample description, once a part has it. */
  number?: number;
}

/** What one sample description of the movie stands for. */
interface Description {
  /** Absent for audio. */
  readonly facts?: LiveVideoFacts;
  init: Uint8Array;
}

interface Track {
  readonly tables: SampleTables;
  readonly configs: Map<number, Config>;
  /** Those of the samples so far, in the order of their numbers, which begin with 1. */
  readonly descriptions: Description[];
  startTicks: number | undefined;
  endTicks: number;
}

export interface RecordingMovie {
  /** The `moov` that follows on the records. */
  readonly bytes: Uint8Array;
  readonly durationSeconds: number;
}

/**
 * The index of a recording whose records end at `recordsEnd`. A gap between two parts of a track
 * becomes the duration of the frame before it. Undefined without frames.
 */
export const writeRecordingMovie = async (read: ReadRange, recordsEnd: number): Promise<RecordingMovie | undefined> => {
  const tracks: Record<TrackKind, Track> = { video: newTrack(), audio: newTrack() };
  let wallMs: number | undefined;
  await scanRecording(read, recordsEnd, {
    fact: (fact) => {
      if (fact.type === 'start') wallMs = fact.wallMs;
      addConfig(tracks, fact);
    },
    part: async (part, offset, sizeBytes, bytes) => {
      const window = bytes.subarray(PART_HEAD_BYTES, sizeBytes);
      const located =
        findPartIndex(window) ?? findPartIndex(await read(offset + PART_HEAD_BYTES, sizeBytes - PART_HEAD_BYTES));
      if (located) addPart(tracks[part.track], part, located.index, offset + PART_HEAD_BYTES + located.samplesAt);
    },
  });
  const present = [tracks.video, tracks.audio].filter(({ tables }) => tables.sampleCount > 0);
  if (present.length === 0) return undefined;
  const movieTracks = present.map(({ descriptions, tables, startTicks }): MovieTrack => {
    const [first, ...others] = descriptions.map(({ init }) => init);
    return { inits: [first!, ...others], tables, ...(startTicks && { startTicks }) };
  });
  return writeMovie(movieTracks, { dataOffset: 0, ...(wallMs !== undefined && { createdSeconds: wallMs / 1000 }) });
};

const newTrack = (): Track => ({
  tables: new SampleTables(),
  configs: new Map(),
  descriptions: [],
  startTicks: undefined,
  endTicks: 0,
});

const addConfig = (tracks: Record<TrackKind, Track>, fact: RecordingFact): void => {
  if (fact.type === 'video-config') {
    const facts = readLiveVideo(fact.codec, Buffer.from(fact.record, 'base64'));
    const { config, reorderTicks } = fact;
    if (facts)
      tracks.video.configs.set(config, { reorderTicks, description: { facts, init: liveVideoInit(facts, 0) } });
  } else if (fact.type === 'audio-config') {
    const facts = readLiveAudio(Buffer.from(fact.record, 'base64'));
    const init = facts && liveAudioInit(facts, fact.timescale);
    if (init) tracks.audio.configs.set(fact.config, { description: { init }, reorderTicks: 0 });
  }
};

const addPart = (track: Track, part: PartRecord, index: Uint8Array, position: number): void => {
  const config = track.configs.get(part.config);
  const samples = readFragmentIndexes(index)[0];
  if (!config || !samples) return;
  if (track.startTicks === undefined) track.startTicks = part.startTicks;
  else if (part.startTicks > track.endTicks) track.tables.extendLast(part.startTicks - track.endTicks);
  config.number ??= numberOf(track, config.description);
  track.tables.add(samples, { position, reorderTicks: config.reorderTicks, description: config.number });
  track.endTicks = Math.max(track.endTicks, part.startTicks) + part.durationTicks;
};

/**
 * The number of the sample description. Configurations that a decoder can have at the same time
 * share one, as those of content and slate do: such a track needs no change of the decoder.
 */
const numberOf = ({ descriptions }: Track, added: Description): number => {
  for (const [index, description] of descriptions.entries()) {
    const joined = join(description, added);
    if (!joined) continue;
    description.init = joined;
    return index + 1;
  }
  return descriptions.push({ ...added });
};

const join = (one: Description, other: Description): Uint8Array | undefined => {
  if (Buffer.compare(one.init, other.init) === 0) return one.init;
  const [a, b] = [one.facts, other.facts];
  if (!a || !b || a.codec !== 'avc' || b.codec !== 'avc' || a.obstacle !== undefined || b.obstacle !== undefined)
    return undefined;
  if (a.width !== b.width || a.height !== b.height) return undefined;
  const record = joinAvccs(readVideoInit(one.init).record, b.record);
  return record && liveVideoInit({ ...a, record }, 0);
};
