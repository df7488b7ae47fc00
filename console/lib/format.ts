/** Values as people read them, in the language of the browser. */

const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });
const whole = new Intl.NumberFormat();

/** @param value seconds since 1970, as the public API writes times, or an ISO 8601 time */
const toDate = (value: string | number): Date =>
  typeof value === 'number' || /^\d+$/.test(value) ? new Date(Number(value) * 1000) : new Date(value);

export const formatDate = (value: string | number): string => dateTime.format(toDate(value));

const units = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

/** Such as "5 minutes ago" or "in 2 hours". */
export const formatAgo = (value: string | number, nowMs = Date.now()): string => {
  const seconds = (toDate(value).getTime() - nowMs) / 1000;
  const [unit, size] = units.find(([, unitSize]) => Math.abs(seconds) >= unitSize) ?? (['second', 1] as const);
  return relative.format(Math.trunc(seconds / size), unit);
};

/** Such as "0:42" or "1:02:03". */
export const formatDuration = (seconds: number): string => {
  const total = Math.round(seconds);
  const two = (value: number): string => String(value).padStart(2, '0');
  const [hours, minutes, rest] = [Math.floor(total / 3600), Math.floor(total / 60) % 60, total % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
};

const spans = [
  [3600, 'hour'],
  [60, 'minute'],
] as const;

/** A time that is set, in the largest unit of which it has a whole number, such as "10 minutes". */
export const formatSpan = (seconds: number): string => {
  const [size, unit] = spans.find(([span]) => seconds >= span && seconds % span === 0) ?? ([1, 'second'] as const);
  return countOf(seconds / size, unit);
};

const sizes = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;

/** In powers of 1000, such as "12.4 MB". */
export const formatBytes = (bytes: number): string => {
  const power = bytes < 1 ? 0 : Math.min(sizes.length - 1, Math.floor(Math.log10(bytes) / 3));
  return new Intl.NumberFormat(undefined, {
    style: 'unit',
    unit: sizes[power]!,
    unitDisplay: power === 0 ? 'long' : 'short',
    maximumFractionDigits: power < 2 ? 0 : 1,
  }).format(bytes / 1000 ** power);
};

const bitRates = [
  [1_000_000, 'Mbit/s', 1],
  [1000, 'kbit/s', 0],
] as const;

/** Such as "4.5 Mbit/s". */
export const formatBitRate = (bitsPerSecond: number): string => {
  const [size, unit, digits] = bitRates.find(([limit]) => bitsPerSecond >= limit) ?? bitRates[1];
  return `${new Intl.NumberFormat(undefined, { maximumFractionDigits: digits }).format(bitsPerSecond / size)} ${unit}`;
};

export const formatCount = (value: number): string => whole.format(value);

/** Such as "1 asset" and "20 assets". */
export const countOf = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`;

/** Such as "640 ms" and "2.3 s". */
export const formatMilliseconds = (ms: number): string =>
  ms < 1000
    ? `${whole.format(Math.round(ms))} ms`
    : `${new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 }).format(ms / 1000)} s`;

/** A part of the whole, from 0 to 1, such as "0.4 %". */
export const formatShare = (share: number): string =>
  `${new Intl.NumberFormat(undefined, { maximumFractionDigits: share < 0.1 ? 2 : 0 }).format(100 * share)} %`;

const hourOfDay = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const timeOfDay = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const dayInUtc = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });
const shortDayInUtc = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', timeZone: 'UTC' });

/** The time of the day. @param value seconds since 1970 */
export const formatHour = (value: number): string => hourOfDay.format(value * 1000);
export const formatTime = (value: number): string => timeOfDay.format(value * 1000);

/** A day in UTC. @param value seconds since 1970 */
export const formatDay = (value: number): string => dayInUtc.format(value * 1000);
export const formatShortDay = (value: number): string => shortDayInUtc.format(value * 1000);

/** As programs write it. @param value seconds since 1970 */
export const writeTime = (value: number): string => new Date(value * 1000).toISOString();
