import { type MovieTrack, writeMovie } from '../mp4/movie-writer.js';
import { readFragmentIndexes } from '../mp4/progressive.js';
import { SampleTables } from '../mp4/sample-table-writer.js';
import type { ReadRange } from '../mp4/sample-tables.js';
import type { TrackKind } from './live-segmenter.js';
import { findPartIndex, PART_HEAD_BYTES, type PartRecord, type RecordingFact } from './recording-format.js';
import { scanRecording } from './scan-recording.js';
import { liveAudioInit, liveVideoInit, readLiveAudio, readLiveVideo } from './stream-facts.js';

interface Config {
  readonly init: Uint8Array;
  readonly reorderTicks: number;
}

interface Track {
  readonly tables: SampleTables;
  readonly configs: Map<number, Config>;
  readonly inits: Uint8Array[];
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
  const movieTracks = present.map(
    ({ inits, tables, startTicks }): MovieTrack => ({
      inits: [inits[0]!, ...inits.slice(1)],
      tables,
      ...(startTicks && { startTicks }),
    }),
  );
  return writeMovie(movieTracks, { dataOffset: 0, ...(wallMs !== undefined && { createdSeconds: wallMs / 1000 }) });
};

const newTrack = (): Track => ({
  tables: new SampleTables(),
  configs: new Map(),
  inits: [],
  startTicks: undefined,
  endTicks: 0,
});

const addConfig = (tracks: Record<TrackKind, Track>, fact: RecordingFact): void => {
  if (fact.type === 'video-config') {
    const facts = readLiveVideo(fact.codec, Buffer.from(fact.record, 'base64'));
    const { reorderTicks } = fact;
    if (facts) tracks.video.configs.set(fact.config, { init: liveVideoInit(facts, reorderTicks), reorderTicks });
  } else if (fact.type === 'audio-config') {
    const facts = readLiveAudio(Buffer.from(fact.record, 'base64'));
    const init = facts && liveAudioInit(facts, fact.timescale);
    if (init) tracks.audio.configs.set(fact.config, { init, reorderTicks: 0 });
  }
};

const addPart = (track: Track, part: PartRecord, index: Uint8Array, position: number): void => {
  const config = track.configs.get(part.config);
  const samples = readFragmentIndexes(index)[0];
  if (!config || !samples) return;
  if (track.startTicks === undefined) track.startTicks = part.startTicks;
  else if (part.startTicks > track.endTicks) track.tables.extendLast(part.startTicks - track.endTicks);
  const description = descriptionOf(track, config.init);
  track.tables.add(samples, { position, reorderTicks: config.reorderTicks, description });
  track.endTicks = Math.max(track.endTicks, part.startTicks) + part.durationTicks;
};

/** Configurations that differ only in `reorderTicks` have the same sample description. */
const descriptionOf = ({ inits }: Track, init: Uint8Array): number => {
  const at = inits.findIndex((other) => Buffer.compare(other, init) === 0);
  return at === -1 ? inits.push(init) : at + 1;
};
