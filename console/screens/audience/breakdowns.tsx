import { Download } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { deletedTitleOf, shortId, titleOf } from '../../api/assets';
import type { Overview, TitledFigures, ValueFigures } from '../../api/audience';
import { downloadCsv, writeCsv } from '../../lib/csv';
import { formatCount, formatDuration, formatShare } from '../../lib/format';
import { IconButton } from '../../ui/button';
import { Section } from '../../ui/page';
import { ProgressBar } from '../../ui/status';

interface MoreColumn<Row> {
  readonly title: string;
  readonly text: (row: Row) => string;
}

interface BreakdownProps<Row extends { readonly views: number }> {
  readonly title: string;
  /** Heading of the names. */
  readonly what: string;
  readonly rows: readonly Row[];
  /** Of all rows, and others. */
  readonly total: number;
  readonly keyOf: (row: Row) => string;
  readonly nameOf: (row: Row) => string;
  /** In place of the name. */
  readonly cell?: (row: Row) => ReactNode;
  /** Columns for which narrow windows have no room. */
  readonly more?: readonly MoreColumn<Row>[];
  /** Columns of the file, in the order of its headings. */
  readonly head: readonly string[];
  readonly line: (row: Row) => readonly (string | number | null)[];
}

/** The values with the most views, each with its share of all views. Nothing without any. */
const Breakdown = <Row extends { readonly views: number }>(props: BreakdownProps<Row>): ReactNode => {
  const { title, what, rows, total, keyOf, nameOf, cell = nameOf, more = [] } = props;
  if (rows.length === 0) return null;
  const fileName = title.toLowerCase().replaceAll(' ', '-');
  return (
    <Section
      title={title}
      actions={
        <IconButton
          label={`Download ${title} as CSV`}
          icon={<Download aria-hidden />}
          onClick={() => downloadCsv(fileName, writeCsv(props.head, rows.map(props.line)))}
        />
      }
    >
      <div className="table-frame breakdown">
        <table aria-label={title}>
          <thead>
            <tr>
              <th scope="col">{what}</th>
              <th scope="col">Share</th>
              <th scope="col">Views</th>
              {more.map(({ title: heading }) => (
                <th key={heading} scope="col" className="breakdown-more">
                  {heading}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={keyOf(row)}>
                <th scope="row">{cell(row)}</th>
                <td className="breakdown-share">
                  <ProgressBar percent={(100 * row.views) / Math.max(1, total)} label={`Share of ${nameOf(row)}`} />
                </td>
                <td>{formatCount(row.views)}</td>
                {more.map((column) => (
                  <td key={column.title} className="breakdown-more">
                    {column.text(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
};

const played: readonly MoreColumn<TitledFigures>[] = [
  { title: 'Watch time', text: ({ watch_time: ms }) => formatDuration(ms / 1000) },
  {
    title: 'Rebuffering',
    text: ({ rebuffer_percentage: share }) => (share === null ? '–' : formatShare(share)),
  },
];
const playedHead = ['views', 'watch_time_ms', 'rebuffer_share'];
const playedLine = ({ views, watch_time: ms, rebuffer_percentage: share }: ValueFigures | TitledFigures) => [
  ...[views, ms, share],
];

const devices: Readonly<Record<string, string>> = { tv: 'TV' };
const deviceOf = (value: string): string => devices[value] ?? value.replace(/^./, (first) => first.toUpperCase());

const regions = new Intl.DisplayNames(undefined, { type: 'region' });
const countryOf = (value: string): string => (/^[A-Z]{2}$/.test(value) ? (regions.of(value) ?? value) : value);

interface ValuesProps {
  readonly title: string;
  readonly what: string;
  readonly rows: readonly ValueFigures[];
  readonly total: number;
  readonly nameOf?: (value: string) => string;
}

const Values = ({ title, what, rows, total, nameOf = (value) => value }: ValuesProps): ReactNode => (
  <Breakdown
    {...{ title, what, rows, total }}
    keyOf={({ value }) => value}
    nameOf={({ value }) => nameOf(value)}
    head={[what.toLowerCase().replaceAll(' ', '_'), ...playedHead]}
    line={(row) => [row.value, ...playedLine(row)]}
  />
);

interface TitledProps {
  readonly title: string;
  readonly what: string;
  readonly rows: readonly TitledFigures[];
  readonly total: number;
  readonly path: string;
  readonly deletedNameOf: (id: string) => string;
}

const Titled = ({ title, what, rows, total, path, deletedNameOf }: TitledProps): ReactNode => {
  const nameOf = ({ id, title: own, is_deleted: isDeleted }: TitledFigures): string =>
    isDeleted ? deletedNameOf(id) : titleOf({ id, meta: { title: own ?? '' } });
  return (
    <Breakdown
      {...{ title, what, rows, total, nameOf }}
      keyOf={({ id }) => id}
      cell={(row) =>
        row.is_deleted ? (
          nameOf(row)
        ) : (
          <div className="asset-title">
            <Link href={`${path}/${row.id}`}>{nameOf(row)}</Link>
          </div>
        )
      }
      more={played}
      head={['id', 'title', ...playedHead]}
      line={(row) => [row.id, row.title, ...playedLine(row)]}
    />
  );
};

interface BreakdownsProps {
  readonly overview: Overview;
  /** Not of one asset or live stream. */
  readonly isOfAll: boolean;
}

export const Breakdowns = ({ overview, isOfAll }: BreakdownsProps): ReactNode => {
  const total = overview.totals.views;
  return (
    <>
      {isOfAll && (
        <>
          <Titled
            {...{ title: 'Top assets', what: 'Asset', rows: overview.assets, total, path: '/assets' }}
            deletedNameOf={deletedTitleOf}
          />
          <Titled
            {...{ title: 'Top live streams', what: 'Live stream', rows: overview.live_streams, total, path: '/live' }}
            deletedNameOf={(id) => `Deleted live stream ${shortId(id)}`}
          />
        </>
      )}
      <div className="breakdowns">
        <Breakdown
          {...{ title: 'Errors', what: 'Error', rows: overview.errors, total }}
          keyOf={({ id }) => String(id)}
          nameOf={({ code, message }) => `${code} ${message}`}
          cell={({ code, message }) => (
            <>
              <code>{code}</code> {message}
            </>
          )}
          head={['code', 'message', 'views']}
          line={({ code, message, views }) => [code, message, views]}
        />
        <Values title="Devices" what="Device" rows={overview.devices} total={total} nameOf={deviceOf} />
        <Values title="Countries" what="Country" rows={overview.countries} total={total} nameOf={countryOf} />
        <Values title="Browsers" what="Browser" rows={overview.browsers} total={total} />
        <Values title="Operating systems" what="Operating system" rows={overview.operating_systems} total={total} />
      </div>
    </>
  );
};
