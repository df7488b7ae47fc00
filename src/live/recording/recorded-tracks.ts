import { LIVE_TIMESCALE } from '../../media/live/frame-grid.js';
import type { TrackKind } from '../../media/live/live-segmenter.js';
import { liveAudioInit, liveVideoInit } from '../../media/live/stream-facts.js';
import { rungName } from '../../media/plan/ladder.js';
import type { CutAudioConfig, CutVideoConfig } from './packet-cutter.js';
import { type ReadFile, RecordedTrack } from './recorded-track.js';

/** The tracks of a recording. Each begins with its first configuration. */
export class RecordedTracks {
  readonly #readFile: ReadFile;
  /** By number; undefined where the file is damaged. */
  readonly videoConfigs: (CutVideoConfig | undefined)[] = [];
  readonly audioConfigs: (CutAudioConfig | undefined)[] = [];
  readonly #tracks: Partial<Record<TrackKind, RecordedTrack>> = {};
  /** See `LiveSegment`. */
  #version: number | undefined;

  constructor(readFile: ReadFile) {
    this.#readFile = readFile;
  }

  /** Video first. */
  get all(): readonly RecordedTrack[] {
    const { video, audio } = this.#tracks;
    return [...(video ? [video] : []), ...(audio ? [audio] : [])];
  }

  /** The track that decides where segments end. */
  get deciding(): RecordedTrack | undefined {
    return this.#tracks.video ?? this.#tracks.audio;
  }

  get kinds(): readonly TrackKind[] {
    return Object.keys(this.#tracks) as TrackKind[];
  }

  of(kind: TrackKind): RecordedTrack | undefined {
    return this.#tracks[kind];
  }

  named(name: string): RecordedTrack | undefined {
    return this.all.find(({ state }) => state.info.name === name);
  }

  get isTakenOver(): boolean {
    return this.#version !== undefined;
  }

  takeOver(version: number): void {
    this.#version = version;
    for (const track of this.all) track.takeOver(version);
  }

  addVideoConfig(number: number, config: CutVideoConfig): void {
    const { facts, reorderTicks, frameRate, isSlate } = config;
    this.videoConfigs[number] = config;
    const { codecs, width, height } = facts;
    const rate = frameRate && { frameRate: frameRate.num / frameRate.den };
    this.#tracks.video ??= new RecordedTrack(
      { name: rungName(facts), kind: 'video', timescale: LIVE_TIMESCALE, codecs, bandwidth: 0, width, height },
      this.#readFile,
      this.#version,
    );
    this.#tracks.video.inits[number] = liveVideoInit(facts, reorderTicks);
    // What is announced of the track is that of the content.
    if (!isSlate) this.#tracks.video.update({ codecs, width, height, ...rate });
  }

  addAudioConfig(number: number, config: CutAudioConfig): void {
    const { facts, timescale } = config;
    this.audioConfigs[number] = config;
    const { codecs, channels } = facts;
    this.#tracks.audio ??= new RecordedTrack(
      { name: 'audio', kind: 'audio', timescale, codecs, bandwidth: 0, channels },
      this.#readFile,
      this.#version,
    );
    this.#tracks.audio.inits[number] = liveAudioInit(facts, timescale);
    this.#tracks.audio.update({ codecs, channels });
  }
}
