/** Tracks of broadcasts that grow as a test says. */
import type { LivePart, LiveSegment, LiveTrackInfo, LiveTrackState } from '../../../src/media/live/live-track.js';

export const liveVideo: LiveTrackInfo = {
  name: '720p',
  kind: 'video',
  timescale: 90_000,
  codecs: 'avc1.64001f',
  bandwidth: 3_000_000,
  width: 1280,
  height: 720,
  frameRate: 30,
};
export const liveAudio: LiveTrackInfo = {
  name: 'audio',
  kind: 'audio',
  timescale: 48_000,
  codecs: 'mp4a.40.2',
  bandwidth: 130_000,
  channels: 2,
};

const addUp = (parts: readonly LivePart[]): number => parts.reduce((sum, { durationTicks }) => sum + durationTicks, 0);

export class GrowingTrack {
  state: LiveTrackState;
  private startTicks = 0;

  constructor(
    info: LiveTrackInfo,
    private nextNumber = 0,
    private nextWallMs = Date.parse('2026-01-01T12:00:00Z'),
  ) {
    this.state = { info, segments: [], ended: false };
  }

  get last(): LiveSegment | undefined {
    return this.state.segments.at(-1);
  }

  /** Begins a segment. */
  begin({ discontinuity = false, config = this.last?.config ?? 0, gapMs = 0 } = {}): void {
    const wallMs = this.nextWallMs + gapMs;
    const segment = { number: this.nextNumber, startTicks: this.startTicks, durationTicks: 0, wallMs, config };
    this.change([...this.state.segments, { ...segment, discontinuity, independent: true, parts: [], complete: false }]);
    this.nextNumber += 1;
  }

  part(durationTicks: number, independent = this.last?.parts.length === 0, sizeBytes = 1000): void {
    const last = this.last!;
    const parts = [...last.parts, { durationTicks, independent, sizeBytes }];
    this.replace({ ...last, parts, durationTicks: addUp(parts), independent: parts[0]!.independent });
  }

  complete(): void {
    const last = this.last!;
    this.replace({ ...last, complete: true });
    this.startTicks = last.startTicks + last.durationTicks;
    this.nextWallMs = last.wallMs + (last.durationTicks * 1000) / this.state.info.timescale;
  }

  /** A whole segment of equal parts. */
  segment(parts: number, partTicks: number, start: Parameters<GrowingTrack['begin']>[0] = {}): void {
    this.begin(start);
    for (let part = 0; part < parts; part += 1) this.part(partTicks);
    this.complete();
  }

  end(): void {
    this.state = { ...this.state, ended: true };
  }

  private replace(segment: LiveSegment): void {
    this.change([...this.state.segments.slice(0, -1), segment]);
  }

  private change(segments: readonly LiveSegment[]): void {
    this.state = { ...this.state, segments };
  }
}
