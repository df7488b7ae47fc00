import type { ReactNode } from 'react';

type Look = 'good' | 'bad' | 'busy' | 'plain';

const looks: Readonly<Record<string, Look>> = {
  ready: 'good',
  active: 'good',
  live: 'good',
  broadcasting: 'good',
  delivered: 'good',
  succeeded: 'good',
  ok: 'good',
  done: 'good',
  errored: 'bad',
  failed: 'bad',
  error: 'bad',
  preparing: 'busy',
  waiting: 'busy',
  pending: 'busy',
  queued: 'busy',
  running: 'busy',
  starting: 'busy',
  connected: 'busy',
  reconnecting: 'busy',
};

interface StatusProps {
  /** A status of the API, such as `ready`. */
  readonly status: string;
  /** What is displayed in its place. */
  readonly text?: string | undefined;
  /** How much is done, from 0 to 100. */
  readonly percent?: number | undefined;
}

export const Status = ({ status, text, percent }: StatusProps): ReactNode => (
  <span className="status" data-look={looks[status] ?? 'plain'}>
    <span className="status-dot" aria-hidden />
    {text ?? status.replace(/_/g, ' ').replace(/^./, (first) => first.toUpperCase())}
    {percent !== undefined && ` ${Math.floor(percent)} %`}
  </span>
);

/** A bar that fills; its label tells screen readers what is done. */
export const ProgressBar = ({ percent, label }: { readonly percent: number; readonly label: string }): ReactNode => (
  <progress className="progress" max={100} value={percent} aria-label={label} />
);
