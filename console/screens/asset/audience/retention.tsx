import '../../../styles/audience.css';
import { useQuery } from '@tanstack/react-query';
import { Download, Table2 } from 'lucide-react';
import { type ReactNode, Suspense, useState } from 'react';
import type { Asset } from '../../../api/assets';
import { type Retention, retentionQuery } from '../../../api/audience';
import { downloadCsv, writeCsv } from '../../../lib/csv';
import { countOf, formatShare } from '../../../lib/format';
import { lazy } from '../../../lib/lazy';
import { Button, IconButton } from '../../../ui/button';
import { Loading } from '../../../ui/page';
import { usePlayer } from '../player';
import { formatStart, formatTimes, RetentionTable } from './retention-table';
import { useSliderInset } from './use-slider-inset';

const Plot = lazy(() => import('../../../ui/plot'));
const HEIGHT_PX = 96;

/** Who still watches at each time, in the width of the player's time slider. */
const RetentionCurve = ({ asset }: { readonly asset: Asset }): ReactNode => {
  const { data } = useQuery(retentionQuery(asset.id));
  return data === undefined || data.views === 0 ? null : <Curve retention={data} />;
};
export default RetentionCurve;

const Curve = ({ retention }: { readonly retention: Retention }): ReactNode => {
  const { video } = usePlayer();
  const inset = useSliderInset(video);
  const [isTable, setTable] = useState(false);
  const [pointed, setPointed] = useState<number>();
  const { points, hotspots, views } = retention;
  const point = pointed === undefined ? undefined : points[pointed];
  const seek = (ms: number): void => {
    if (video) video.currentTime = ms / 1000;
  };
  const save = (): void =>
    downloadCsv(
      'retention',
      writeCsv(
        ['time_ms', 'watching', 'plays'],
        points.map(({ time, watching, plays }) => [time, watching, plays]),
      ),
    );
  return (
    <figure className="retention" aria-label="Retention">
      <div className="chart-head">
        <figcaption>
          Still watching{' '}
          <span className="soft" aria-hidden>
            {point
              ? `at ${formatStart(point.time, points)}: ${formatShare(point.watching)}, played ${formatTimes(point.plays)}`
              : `of ${countOf(views, 'view')} in 90 days`}
          </span>
        </figcaption>
        <IconButton
          label="Retention as a table"
          icon={<Table2 aria-hidden />}
          aria-pressed={isTable}
          onClick={() => setTable(!isTable)}
        />
        <IconButton label="Download retention as CSV" icon={<Download aria-hidden />} onClick={save} />
      </div>
      {isTable ? (
        <RetentionTable points={points} />
      ) : (
        <div className="retention-plot" ref={inset}>
          <Suspense fallback={<Loading />}>
            <Plot
              label="Share of the views that still watch, by time. The table has the values."
              look="line"
              isBare
              heightPx={HEIGHT_PX}
              positions={points.map(({ time }) => time)}
              series={[
                { name: 'Still watching', color: 'accent', values: points.map(({ watching }) => watching) },
                { name: 'Plays', color: 'busy', isDashed: true, values: points.map(({ plays }) => plays) },
              ]}
              formatPosition={(ms) => formatStart(ms, points)}
              formatValue={formatShare}
              atLeast={1}
              onPoint={setPointed}
              onPick={(index) => seek(points[index]!.time)}
            />
          </Suspense>
        </div>
      )}
      <p className="chart-legend" aria-hidden>
        <span data-color="accent">Still watching</span>
        <span data-color="busy" data-dashed>
          Plays for each view
        </span>
      </p>
      {hotspots.length > 0 && (
        <div className="hotspots">
          <span className="soft">Hotspots</span>
          {hotspots.map(({ start_ms: start, end_ms: end }) => (
            <Button key={start} onClick={() => seek(start)}>
              {formatStart(start, points)} – {formatStart(end, points)}
            </Button>
          ))}
        </div>
      )}
    </figure>
  );
};
