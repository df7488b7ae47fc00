import { PART_SECONDS } from '../../domain/usage/delivery-counter.js';
import { findSpots, meanOf, smoothRates, type WatchedVideo } from '../../domain/usage/engagement-spots.js';

/** Describes the engagement with an asset: which parts of it viewers watch more than others. */

export interface DeliveredPart {
  /** Counted from the start of the asset. */
  readonly part: number;
  readonly seconds: number;
}

const MAX_MOMENTS = 5;
const QUARTERS = 4;

const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** From how much of each part was sent to viewers. */
export const describeDeliveries = (parts: readonly DeliveredPart[], durationSeconds: number) => {
  const count = Math.max(Math.ceil(durationSeconds / PART_SECONDS), 1);
  const rates = Array.from({ length: count }, (_, part) => {
    const length = Math.min(durationSeconds - part * PART_SECONDS, PART_SECONDS) || PART_SECONDS;
    return (parts.find((one) => one.part === part)?.seconds ?? 0) / length;
  });
  const total = parts.reduce((sum, { seconds }) => sum + seconds, 0);
  if (total === 0)
    return {
      moment_insights: [],
      overall_insight: { summary: 'No part of the asset has been delivered to viewers yet.', trends: [] },
    };
  return describe({
    rates,
    partMs: PART_SECONDS * 1000,
    durationMs: durationSeconds * 1000,
    verb: 'sent',
    insight: 'Viewers were sent this part',
    summary: `Viewers were sent ${(total / 60).toFixed(1)} minutes of this asset of ${(durationSeconds / 60).toFixed(1)} minutes: each part ${meanOf(smoothRates(rates)).toFixed(1)} times on average.`,
  });
};

/** From what players report of their views. */
export const describeViews = ({ views, value: rates, durationMs }: WatchedVideo) =>
  describe({
    rates,
    partMs: durationMs / rates.length,
    durationMs,
    verb: 'played',
    insight: 'Viewers played this part',
    summary: `In ${views} ${views === 1 ? 'view' : 'views'}, viewers played ${percent(meanOf(rates))} of this asset of ${(durationMs / 60_000).toFixed(1)} minutes on average.`,
  });

interface Watched {
  /** How often each part was watched. */
  readonly rates: readonly number[];
  readonly partMs: number;
  /** Where the last part ends. */
  readonly durationMs: number;
  /** What happened to a part, as a participle. */
  readonly verb: string;
  /** How the sentence about a moment begins. */
  readonly insight: string;
  readonly summary: string;
}

const describe = ({ rates, partMs, durationMs, verb, insight, summary }: Watched) => {
  const smooth = smoothRates(rates);
  const [average, highest] = [meanOf(smooth), Math.max(...smooth)];
  const moments = findSpots(smooth, 'hot')
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_MOMENTS)
    .sort((a, b) => a.first - b.first)
    .map(({ first, last, score }) => ({
      start_ms: Math.round(first * partMs),
      end_ms: Math.round(Math.min((last + 1) * partMs, durationMs)),
      engagement_score: Math.round(score * 1000) / 1000,
      insight: `${insight} ${((score * highest) / average).toFixed(1)} times as often as the average part.`,
    }));
  return { moment_insights: moments, overall_insight: { summary, trends: trendsOf(rates, moments.length, verb) } };
};

const trendsOf = (rates: readonly number[], hot: number, verb: string): string[] => {
  const trends = [hot === 0 ? 'No part stands out.' : `${hot} ${hot === 1 ? 'part stands' : 'parts stand'} out.`];
  if (rates.length < QUARTERS) return trends;
  const quarter = Math.floor(rates.length / QUARTERS);
  const [start, end] = [meanOf(rates.slice(0, quarter)), meanOf(rates.slice(-quarter))];
  if (start > 0) trends.push(`The last quarter was ${verb} ${percent(end / start)} as often as the first.`);
  return trends;
};
