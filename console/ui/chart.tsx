import { Download, Table2 } from 'lucide-react';
import { type ReactNode, Suspense, useState } from 'react';
import { downloadCsv, writeCsv } from '../lib/csv';
import { lazy } from '../lib/lazy';
import { IconButton } from './button';
import { Loading } from './page';
import type { PlotColor } from './plot';

const Plot = lazy(() => import('./plot'));

export interface ChartSeries {
  readonly name: string;
  /** Heading of its column in the file, with the unit. */
  readonly column: string;
  /** One per position; null where nothing is known. */
  readonly values: readonly (number | null)[];
  /** The accent when absent. */
  readonly color?: PlotColor;
  readonly isDashed?: boolean;
}

export interface ChartProps {
  readonly title: string;
  /** Of the file, without its extension. */
  readonly fileName: string;
  readonly look: 'bars' | 'line';
  /** Where the values are, ascending. */
  readonly positions: readonly number[];
  /** Heading of the positions. */
  readonly positionName: string;
  /** As in the file. */
  readonly writePosition: (position: number) => string;
  /** In the table, and where it is pointed at. */
  readonly formatPosition: (position: number) => string;
  /** On the axis; as in the table when absent. */
  readonly formatTick?: (position: number) => string;
  readonly series: readonly ChartSeries[];
  readonly formatValue: (value: number) => string;
  /** Values of the axis; as in the table when absent. */
  readonly formatAxis?: (value: number) => string;
  /** The size of the unit of the axis, so that its values are round; 1 when absent. */
  readonly unit?: number;
  readonly atLeast?: number;
}

const HEIGHT_PX = 190;
const NONE = '–';

/** Values over time with the table behind them, which also is a file. */
export const Chart = (props: ChartProps): ReactNode => {
  const { title, fileName, positions, positionName, series, formatPosition, formatValue, unit = 1 } = props;
  const [isTable, setTable] = useState(false);
  const [pointed, setPointed] = useState<number>();
  const text = (value: number | null | undefined): string => (value == null ? NONE : formatValue(value));
  const save = (): void =>
    downloadCsv(
      fileName,
      writeCsv(
        [positionName.toLowerCase().replaceAll(' ', '_'), ...series.map(({ column }) => column)],
        positions.map((position, at) => [props.writePosition(position), ...series.map(({ values }) => values[at])]),
      ),
    );
  return (
    <figure className="chart" aria-label={title}>
      <div className="chart-head">
        <figcaption>{title}</figcaption>
        <IconButton
          label={`${title} as a table`}
          icon={<Table2 aria-hidden />}
          aria-pressed={isTable}
          onClick={() => setTable(!isTable)}
        />
        <IconButton label={`Download ${title} as CSV`} icon={<Download aria-hidden />} onClick={save} />
      </div>
      {isTable ? (
        <ChartTable {...props} text={text} />
      ) : (
        <>
          <p className="chart-legend" aria-hidden>
            {pointed !== undefined && positions[pointed] !== undefined && <b>{formatPosition(positions[pointed])}</b>}
            {series.map(({ name, color = 'accent', isDashed, values }) => (
              <span key={name} data-color={color} data-dashed={isDashed}>
                {name}
                {pointed !== undefined && ` ${text(values[pointed])}`}
              </span>
            ))}
          </p>
          <div className="chart-frame">
            <Suspense fallback={<Loading />}>
              <Plot
                label={`${title}. The table has the values.`}
                look={props.look}
                heightPx={HEIGHT_PX}
                positions={positions}
                series={series.map(({ name, values, color = 'accent', isDashed }) => ({
                  ...{ name, color, ...(isDashed && { isDashed }) },
                  values: values.map((value) => (value === null ? null : value / unit)),
                }))}
                formatPosition={props.formatTick ?? formatPosition}
                formatValue={(value) => (props.formatAxis ?? formatValue)(value * unit)}
                {...(props.atLeast !== undefined && { atLeast: props.atLeast / unit })}
                onPoint={setPointed}
              />
            </Suspense>
          </div>
        </>
      )}
    </figure>
  );
};

interface ChartTableProps extends Pick<ChartProps, 'title' | 'positions' | 'positionName' | 'series'> {
  readonly formatPosition: (position: number) => string;
  readonly text: (value: number | null | undefined) => string;
}

const ChartTable = ({ title, positions, positionName, series, formatPosition, text }: ChartTableProps): ReactNode => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard.
  <section className="chart-table" tabIndex={0} aria-label={`Values of ${title}`}>
    <table aria-label={title}>
      <thead>
        <tr>
          <th scope="col">{positionName}</th>
          {series.map(({ name }) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {positions.map((position, at) => (
          <tr key={position}>
            <th scope="row">{formatPosition(position)}</th>
            {series.map(({ name, values }) => (
              <td key={name}>{text(values[at])}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </section>
);
