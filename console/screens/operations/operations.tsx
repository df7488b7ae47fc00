import type { ReactNode } from 'react';
import { useCallback } from 'react';
import { Link, useSearchParams } from 'wouter';
import { deletedTitleOf, titleOf } from '../../api/assets';
import { type Job, type Operations, operationsQuery, type ServerFigures } from '../../api/operations';
import { countOf, formatAgo, formatBytes, formatDate, formatDuration } from '../../lib/format';
import { Loaded, Page, Section } from '../../ui/page';
import { SearchField } from '../../ui/search-field';
import { ProgressBar, Status } from '../../ui/status';
import { type Column, Table } from '../../ui/table';

/** What the jobs of a queue do. */
const jobNames: Readonly<Record<string, string>> = {
  ingest: 'Prepare an asset',
  transcode: 'Prepare an asset that takes long',
  'ingest-track': 'Prepare a track',
  'recognize-speech': 'Recognize speech',
  'make-static-rendition': 'Make a file to download',
  master: 'Make a master',
  'end-master': 'Delete a master that has expired',
  shots: 'Detect shots',
  'directive-run': 'Advance a directive',
  'robots-job': 'Run a workflow',
  'time-out-upload': 'Time out an upload',
  'settle-uploads': 'Check uploads after a start',
  purge: 'Delete the files of an asset',
  'purge-track': 'Delete the files of a track',
  'purge-static-rendition': 'Delete a file to download',
  'delete-test-asset': 'Delete a test asset',
};
/** Timers, which are cancelled when what they wait for happens in time. */
const timers: readonly string[] = ['time-out-upload', 'end-master', 'delete-test-asset'];

const stateOf = ({ queue, state }: Job): ReactNode => {
  if (state === 'cancelled' && timers.includes(queue)) return <Status status="done" text="Not needed any more" />;
  return <Status status={state} text={state === 'active' ? 'Running' : undefined} />;
};

const jobColumns: readonly Column<Job>[] = [
  {
    key: 'queue',
    title: 'Job',
    cell: ({ queue, error, attempt, max_attempts: most }) => (
      <div className="asset-title">
        <span title={queue}>{jobNames[queue] ?? queue}</span>
        {attempt > 1 && (
          <p className="soft">
            Attempt {attempt} of {most}
          </p>
        )}
        {error?.message !== undefined && <p className="asset-problem">{error.message}</p>}
      </div>
    ),
  },
  {
    key: 'asset',
    title: 'Asset',
    cell: ({ asset_id: id, asset_title: title }) =>
      id !== null && (
        <div className="asset-title">
          {title === null ? deletedTitleOf(id) : <Link href={`/assets/${id}`}>{titleOf({ id, meta: { title } })}</Link>}
        </div>
      ),
  },
  { key: 'state', title: 'State', cell: stateOf },
  {
    key: 'time',
    title: 'Time',
    isEnd: true,
    cell: ({ state, run_at: runAt, finished_at: finishedAt }) => (
      <time title={formatDate(finishedAt ?? runAt)}>
        {finishedAt === null && state === 'queued' ? 'starts ' : ''}
        {formatAgo(finishedAt ?? runAt)}
      </time>
    ),
  },
];

/** What the server does at the moment, for its administrators. */
const OperationsScreen = (): ReactNode => {
  const [params, setParams] = useSearchParams();
  const assetId = params.get('asset') ?? '';
  const search = useCallback(
    (text: string) => setParams(text.trim() === '' ? {} : { asset: text.trim() }, { replace: true }),
    [setParams],
  );
  return (
    <Page title="Operations">
      <Loaded query={operationsQuery(assetId)}>
        {(operations) => (
          <>
            {operations.server.disk_is_low && <LowDisk server={operations.server} />}
            <Checks checks={operations.checks} />
            <Section title="Jobs">
              <div className="toolbar">
                <SearchField label="ID of an asset" value={assetId} onChange={search} />
              </div>
              {operations.jobs.length === 0 ? (
                <p className="soft">{assetId === '' ? 'Nothing is waiting or running.' : 'This asset has no jobs.'}</p>
              ) : (
                <Table label="Jobs" columns={jobColumns} rows={operations.jobs} keyOf={({ id }) => id} />
              )}
            </Section>
            <Server server={operations.server} />
          </>
        )}
      </Loaded>
    </Page>
  );
};
export default OperationsScreen;

const LowDisk = ({ server }: { readonly server: ServerFigures }): ReactNode => (
  <p className="notice notice-warning" role="alert">
    The disk is almost full: {formatBytes(server.disk_free_bytes)} are free. Delete assets or other files on it, or set
    a smaller KINORA_CACHE_SIZE. When it is full, uploads and new assets fail.
  </p>
);

const Checks = ({ checks }: Pick<Operations, 'checks'>): ReactNode => (
  <Section title="Checks">
    <ul className="check-list">
      {checks.map(({ name, status, problem }) => (
        <li key={name}>
          <Status status={status} text={name.replace(/^./, (first) => first.toUpperCase())} />
          {problem !== undefined && <p className="notice notice-warning">{problem}</p>}
        </li>
      ))}
    </ul>
  </Section>
);

const Server = ({ server }: { readonly server: ServerFigures }): ReactNode => {
  const used = server.cache_limit_bytes > 0 ? (100 * server.cache_bytes) / server.cache_limit_bytes : 0;
  const facts: readonly (readonly [string, ReactNode])[] = [
    ['Version', `Kinora ${server.version}, Node.js ${server.node_version}, process ${server.pid}`],
    ['Running for', formatDuration(server.uptime_seconds)],
    ['Database', server.database === 'pglite' ? 'Embedded (PGlite)' : 'PostgreSQL'],
    ['Data directory', <code key="dir">{server.data_dir}</code>],
    ['Free disk space', formatBytes(server.disk_free_bytes)],
    ['Memory', formatBytes(server.memory_bytes)],
    [
      'Segment cache',
      <span key="cache" className="bar">
        <ProgressBar percent={used} label="Segment cache in use" />
        <span>
          {formatBytes(server.cache_bytes)} of {formatBytes(server.cache_limit_bytes)}
        </span>
      </span>,
    ],
    ['Media processes', countOf(server.media_processes, 'job at a time', 'jobs at a time')],
    ['Isolation', server.sandbox],
    ['Webhook delay', server.webhook_lag_seconds < 1 ? 'None' : formatDuration(server.webhook_lag_seconds)],
  ];
  return (
    <Section title="Server">
      <dl className="facts-list">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {server.sandbox_advice !== null && <p className="notice notice-warning">{server.sandbox_advice}</p>}
    </Section>
  );
};
