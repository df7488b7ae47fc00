import type { ReactNode } from 'react';
import type { Retention } from '../../../api/audience';
import { formatCueTime } from '../../../lib/cues';
import { formatDuration, formatShare } from '../../../lib/format';

const decimal = new Intl.NumberFormat(undefined, { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** How often something was played, such as "1.3 times". */
export const formatTimes = (times: number): string => `${decimal.format(times)} times`;

/** The start of a part: parts of short videos are shorter than a second. */
export const formatStart = (ms: number, points: Retention['points']): string =>
  (points[1]?.time ?? 1000) < 1000 ? formatCueTime(ms / 1000) : formatDuration(ms / 1000);

export const RetentionTable = ({ points }: Pick<Retention, 'points'>): ReactNode => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard.
  <section className="chart-table" tabIndex={0} aria-label="Values of retention">
    <table aria-label="Retention">
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Still watching</th>
          <th scope="col">Played</th>
        </tr>
      </thead>
      <tbody>
        {points.map(({ time, watching, plays }) => (
          <tr key={time}>
            <th scope="row">{formatStart(time, points)}</th>
            <td>{formatShare(watching)}</td>
            <td>{formatTimes(plays)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </section>
);
