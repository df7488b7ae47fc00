import { type TimedView, viewTimeline } from './view-timeline.js';

export interface RenditionSummary {
  /** Bits per second while it played; null when no event tells them. */
  readonly average_bitrate: number | null;
  /** Changes of the bitrate after the first one, and those to more and to less. */
  readonly rendition_changes: number;
  readonly rendition_upshifts: number;
  readonly rendition_downshifts: number;
}

/** What players do not compute themselves: which renditions a view that has ended played. */
export const summarizeRenditions = (view: TimedView): RenditionSummary => {
  const { spans, bitrates } = viewTimeline(view, view.seen_at.getTime());
  const steps = bitrates.slice(1).map(([, bitrate], i) => Math.sign(bitrate - bitrates[i]![1]));
  let playedMs = 0;
  let bits = 0;
  bitrates.forEach(([fromMs, bitrate], i) => {
    const toMs = bitrates[i + 1]?.[0] ?? Number.POSITIVE_INFINITY;
    for (const span of spans) {
      const overlapMs = Math.min(span.toMs, toMs) - Math.max(span.fromMs, fromMs);
      if (span.state !== 'playing' || overlapMs <= 0) continue;
      playedMs += overlapMs;
      bits += overlapMs * bitrate;
    }
  });
  return {
    average_bitrate: playedMs > 0 ? bits / playedMs : null,
    rendition_changes: steps.filter((step) => step !== 0).length,
    rendition_upshifts: steps.filter((step) => step > 0).length,
    rendition_downshifts: steps.filter((step) => step < 0).length,
  };
};
