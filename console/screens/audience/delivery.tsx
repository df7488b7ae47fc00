import '../../styles/audience.css';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { deletedTitleOf, titleOf, titlesQuery } from '../../api/assets';
import { type AssetUsage, type Usage, usageQuery } from '../../api/usage';
import { downloadCsv } from '../../lib/csv';
import { countOf, formatDate, formatDuration } from '../../lib/format';
import { Button } from '../../ui/button';
import { EmptyState } from '../../ui/empty-state';
import { SelectField } from '../../ui/field';
import { Loaded, Section } from '../../ui/page';
import { ProgressBar } from '../../ui/status';
import { type Column, Table } from '../../ui/table';
import { Budgets } from './budgets';
import { tiersOf, writeUsageCsv } from './usage-csv';

const WINDOWS = [
  ['24', 'Last 24 hours'],
  ['168', 'Last 7 days'],
  ['720', 'Last 30 days'],
  // A minute less than the 90 days that reports cover.
  ['2159', 'Last 90 days'],
] as const;
const LONGEST_LIST = 100;

const totalOf = (usage: Usage): number =>
  usage.assets.reduce((total, { delivered_seconds: seconds }) => total + seconds, 0);

/** What viewers were sent, as charts and as CSV, and budgets of it. */
export const Delivery = (): ReactNode => {
  const [hours, setHours] = useState('168');
  return (
    <>
      <div className="report-time">
        <SelectField label="Time" options={WINDOWS} value={hours} onChange={({ target }) => setHours(target.value)} />
      </div>
      <Budgets />
      <Loaded query={usageQuery(Number(hours))}>
        {(usage) =>
          usage.assets.length === 0 ? (
            <EmptyState title="Nothing was watched in this time">
              <p>The time that viewers were sent appears here within a minute.</p>
            </EmptyState>
          ) : (
            <Report usage={usage} />
          )
        }
      </Loaded>
    </>
  );
};

const Report = ({ usage }: { readonly usage: Usage }): ReactNode => {
  const total = totalOf(usage);
  const [from, until] = usage.timeframe;
  const bySeconds = tiersOf(usage).map((tier) => ({
    tier,
    seconds: usage.assets.reduce((sum, asset) => sum + (asset.delivered_seconds_by_resolution[tier] ?? 0), 0),
  }));
  const listed = usage.assets.slice(0, LONGEST_LIST);
  const { data: titles } = useQuery(titlesQuery(listed.map(({ asset_id: id }) => id)));
  const nameOf = ({ asset_id: id, asset_state: state }: AssetUsage): string =>
    state === 'deleted' ? deletedTitleOf(id) : titleOf({ id, meta: { title: titles?.[id] ?? '' } });
  const columns: readonly Column<AssetUsage>[] = [
    {
      key: 'asset',
      title: 'Asset',
      cell: (of) =>
        of.asset_state === 'deleted' ? (
          <span>{nameOf(of)}</span>
        ) : (
          <div className="asset-title">
            <Link href={`/assets/${of.asset_id}`}>{titles ? nameOf(of) : '…'}</Link>
          </div>
        ),
    },
    {
      key: 'share',
      title: 'Share',
      cell: (of) => <ProgressBar percent={(100 * of.delivered_seconds) / total} label={`Share of ${nameOf(of)}`} />,
    },
    {
      key: 'time',
      title: 'Time sent',
      isEnd: true,
      cell: ({ delivered_seconds: seconds }) => formatDuration(seconds),
    },
  ];
  return (
    <>
      <p className="usage-total" role="status">
        <strong>{formatDuration(total)}</strong> of {countOf(usage.assets.length, 'asset')}, {formatDate(from)} to{' '}
        {formatDate(until)}
      </p>
      <Section title="By resolution">
        <dl className="bars">
          {bySeconds.map(({ tier, seconds }) => (
            <div key={tier} className="bar">
              <dt>{tier.replace('tier_', '').replace('_', ' ')}</dt>
              <dd>
                <ProgressBar percent={(100 * seconds) / total} label={`Share of ${tier.replace('tier_', '')}`} />
                <span>{formatDuration(seconds)}</span>
              </dd>
            </div>
          ))}
        </dl>
      </Section>
      <Section
        title="By asset"
        actions={<Button onClick={() => downloadCsv('usage', writeUsageCsv(usage))}>Download CSV</Button>}
      >
        <Table label="Usage by asset" columns={columns} rows={listed} keyOf={({ asset_id: id }) => id} />
        {usage.assets.length > LONGEST_LIST && (
          <p>
            The {LONGEST_LIST} assets that were watched most. The CSV file has all {usage.assets.length}.
          </p>
        )}
      </Section>
    </>
  );
};
