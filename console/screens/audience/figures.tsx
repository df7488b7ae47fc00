import type { ReactNode } from 'react';
import type { Overview } from '../../api/audience';
import { formatCount, formatDate, formatDuration, formatMilliseconds, formatShare } from '../../lib/format';

/** A number with its name, and what it was before or how it came about. */
interface Figure {
  readonly name: string;
  readonly value: string;
  readonly note?: string | undefined;
}

const NONE = '–';
const orNone = (value: number | null, format: (value: number) => string): string =>
  value === null ? NONE : format(value);

/** Such as "+20 % (100 before)"; nothing without anything to compare with. */
const changeOf = (value: number, before: number, format: (value: number) => string): string | undefined => {
  if (before === 0) return undefined;
  const percent = Math.round((100 * (value - before)) / before);
  return `${percent > 0 ? '+' : percent < 0 ? '−' : ''}${formatCount(Math.abs(percent))} % (${format(before)} before)`;
};

const figuresOf = ({ totals, previous, viewers }: Overview, now: number | undefined): readonly Figure[] => [
  { name: 'Viewers now', value: formatCount(now ?? viewers.now) },
  {
    name: 'Peak',
    value: formatCount(Math.max(viewers.peak, now ?? 0)),
    note: viewers.peak_at === null ? undefined : formatDate(viewers.peak_at),
  },
  { name: 'Views', value: formatCount(totals.views), note: changeOf(totals.views, previous.views, formatCount) },
  {
    name: 'Watch time',
    value: formatDuration(totals.watch_time / 1000),
    note: changeOf(totals.watch_time, previous.watch_time, (ms) => formatDuration(ms / 1000)),
  },
  {
    name: 'Startup time',
    value: orNone(totals.startup_time_median, formatMilliseconds),
    note: totals.startup_time_p95 === null ? undefined : `95 % within ${formatMilliseconds(totals.startup_time_p95)}`,
  },
  {
    name: 'Rebuffering',
    value: orNone(totals.rebuffer_percentage, formatShare),
    note: previous.rebuffer_percentage === null ? undefined : `${formatShare(previous.rebuffer_percentage)} before`,
  },
  {
    name: 'Failures',
    value: formatCount(totals.playback_failures),
    note: totals.startup_failures === 0 ? undefined : `${formatCount(totals.startup_failures)} before the first frame`,
  },
  { name: 'Left before the start', value: formatCount(totals.exits_before_start) },
];

interface FiguresProps {
  readonly overview: Overview;
  /** The number of viewers that is loaded more often; undefined until it is. */
  readonly now: number | undefined;
}

export const Figures = ({ overview, now }: FiguresProps): ReactNode => (
  <dl className="figures">
    {figuresOf(overview, now).map(({ name, value, note }) => (
      <div key={name} className="figure">
        <dt>{name}</dt>
        <dd>
          <strong>{value}</strong>
          {note !== undefined && <span>{note}</span>}
        </dd>
      </div>
    ))}
  </dl>
);
