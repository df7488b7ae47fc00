import { PART_SECONDS } from '../../domain/usage/delivery-counter.js';

/** Describes the engagement with an asset from how much of each part was sent to viewers. */

export interface DeliveredPart {
  /** Counted from the start of the asset. */
  readonly part: number;
  readonly seconds: number;
}

const MAX_MOMENTS = 5;
/** With fewer parts, smoothing would make all of them alike. */
const MIN_SMOOTHED = 6;
/** A hotspot has at least this many times the mean. */
const HOT = 1.25;

const percent = (share: number): string => `${Math.round(share * 100)} %`;

export const describeEngagement = (parts: readonly DeliveredPart[], durationSeconds: number) => {
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
  const smooth = count < MIN_SMOOTHED ? rates : rates.map((_, at) => mean(rates.slice(Math.max(at - 1, 0), at + 2)));
  const average = mean(smooth);
  const highest = Math.max(...smooth);
  const moments = hotspots(smooth, average)
    .sort((a, b) => b.rate - a.rate)
    .slice(0, MAX_MOMENTS)
    .sort((a, b) => a.first - b.first)
    .map(({ first, last, rate }) => ({
      start_ms: first * PART_SECONDS * 1000,
      end_ms: Math.round(Math.min((last + 1) * PART_SECONDS, durationSeconds) * 1000),
      engagement_score: Math.round((rate / highest) * 1000) / 1000,
      insight: `Viewers were sent this part ${(rate / average).toFixed(1)} times as often as the average part.`,
    }));
  return {
    moment_insights: moments,
    overall_insight: { summary: summaryOf(total, durationSeconds, average), trends: trendsOf(rates, moments.length) },
  };
};

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Runs of consecutive parts that are all far above the mean. */
const hotspots = (rates: readonly number[], average: number): { first: number; last: number; rate: number }[] => {
  const spots: { first: number; last: number; rate: number }[] = [];
  rates.forEach((rate, at) => {
    if (rate < HOT * average) return;
    const open = spots.at(-1);
    if (open?.last === at - 1) Object.assign(open, { last: at, rate: Math.max(open.rate, rate) });
    else spots.push({ first: at, last: at, rate });
  });
  return spots;
};

const summaryOf = (total: number, duration: number, average: number): string =>
  `Viewers were sent ${(total / 60).toFixed(1)} minutes of this asset of ${(duration / 60).toFixed(1)} minutes: each part ${average.toFixed(1)} times on average.`;

const QUARTERS = 4;

const trendsOf = (rates: readonly number[], hot: number): string[] => {
  const trends = [hot === 0 ? 'No part stands out.' : `${hot} ${hot === 1 ? 'part stands' : 'parts stand'} out.`];
  if (rates.length < QUARTERS) return trends;
  const quarter = Math.floor(rates.length / QUARTERS);
  const [start, end] = [mean(rates.slice(0, quarter)), mean(rates.slice(-quarter))];
  if (start > 0) trends.push(`The last quarter was sent ${percent(end / start)} as often as the first.`);
  return trends;
};
