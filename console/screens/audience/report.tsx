import '../../styles/audience.css';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import {
  type AudienceSubject,
  type CurrentViewers,
  type Overview,
  overviewQuery,
  viewersQuery,
} from '../../api/audience';
import {
  formatCount,
  formatDate,
  formatDay,
  formatDuration,
  formatHour,
  formatMilliseconds,
  formatShare,
  formatShortDay,
  formatTime,
  writeTime,
} from '../../lib/format';
import { Chart } from '../../ui/chart';
import { Loaded } from '../../ui/page';
import { Breakdowns } from './breakdowns';
import { Figures } from './figures';
import { HowToCount } from './how-to-count';

interface ReportProps {
  /** A duration of the API, such as `7:days`. */
  readonly timeframe: string;
  readonly subject?: AudienceSubject;
}

/** Who watched, and how well it played: everything, one asset, or one live stream. */
export const Report = ({ timeframe, subject = {} }: ReportProps): ReactNode => {
  const { data: viewers } = useQuery(viewersQuery(subject));
  return (
    <Loaded query={overviewQuery(timeframe, subject)}>
      {(overview) =>
        overview.totals.views === 0 && !viewers?.now ? (
          <HowToCount />
        ) : (
          <>
            <Figures overview={overview} now={viewers?.now} />
            <div className="charts">
              {viewers && <ViewersChart viewers={viewers} />}
              <Charts overview={overview} />
            </div>
            <Breakdowns overview={overview} isOfAll={Object.keys(subject).length === 0} />
          </>
        )
      }
    </Loaded>
  );
};

const ViewersChart = ({ viewers: { points } }: { readonly viewers: CurrentViewers }): ReactNode => (
  <Chart
    title="Viewers in the last 30 minutes"
    fileName="viewers"
    look="line"
    positions={points.map(({ time }) => time)}
    positionName="Time"
    writePosition={writeTime}
    formatPosition={formatTime}
    formatTick={formatHour}
    series={[{ name: 'Viewers', column: 'viewers', values: points.map(({ viewers }) => viewers) }]}
    formatValue={formatCount}
    atLeast={4}
  />
);

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

const Charts = ({ overview: { points, interval } }: { readonly overview: Overview }): ReactNode => {
  const shared = {
    positions: points.map(({ time }) => time),
    writePosition: writeTime,
    ...(interval === 'hour'
      ? { positionName: 'Hour', formatPosition: formatDate, formatTick: formatHour }
      : { positionName: 'Day in UTC', formatPosition: formatDay, formatTick: formatShortDay }),
  };
  const watchTimes = points.map(({ watch_time: ms }) => ms);
  const [unit, unitName] =
    Math.max(...watchTimes) >= 2 * HOUR_MS ? ([HOUR_MS, 'h'] as const) : ([MINUTE_MS, 'min'] as const);
  return (
    <>
      <Chart
        {...shared}
        title="Views"
        fileName="views"
        look="bars"
        series={[{ name: 'Views', column: 'views', values: points.map(({ views }) => views) }]}
        formatValue={formatCount}
        atLeast={4}
      />
      <Chart
        {...shared}
        title="Watch time"
        fileName="watch-time"
        look="bars"
        series={[{ name: 'Watch time', column: 'watch_time_ms', values: watchTimes }]}
        formatValue={(ms) => formatDuration(ms / 1000)}
        formatAxis={(ms) => `${formatCount(ms / unit)} ${unitName}`}
        unit={unit}
        atLeast={4 * MINUTE_MS}
      />
      <Chart
        {...shared}
        title="Startup time"
        fileName="startup-time"
        look="line"
        series={[
          {
            ...{ name: 'Median', column: 'startup_time_median_ms' },
            values: points.map(({ startup_time_median: ms }) => ms),
          },
          {
            ...{ name: '95 % within', column: 'startup_time_p95_ms', color: 'busy', isDashed: true },
            values: points.map(({ startup_time_p95: ms }) => ms),
          },
        ]}
        formatValue={formatMilliseconds}
        atLeast={1000}
      />
      <Chart
        {...shared}
        title="Rebuffering"
        fileName="rebuffering"
        look="line"
        series={[
          {
            ...{ name: 'Part of the watch time', column: 'rebuffer_share' },
            values: points.map(({ rebuffer_percentage: share }) => share),
          },
        ]}
        formatValue={formatShare}
        unit={0.01}
        atLeast={0.01}
      />
    </>
  );
};
