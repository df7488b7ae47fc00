import type { Moved } from './move-asset.js';
import type { ImportReport } from './run-import.js';

const outcomes: Readonly<Record<Moved['outcome'], string>> = {
  imported: 'imported',
  planned: 'would be imported',
  present: 'imported before',
  skipped: 'skipped',
  failed: 'failed',
};

const countOutcomes = ({ assets }: ImportReport): Readonly<Record<Moved['outcome'], number>> => {
  const count = { imported: 0, planned: 0, present: 0, skipped: 0, failed: 0 };
  for (const { outcome } of assets) count[outcome] += 1;
  return count;
};

/** One line for an asset, such as `failed  <id>  <title>: <notes>`. */
export const lineOf = ({ outcome, assetId, title, notes }: Moved): string =>
  `${outcomes[outcome]}  ${assetId}${title && `  ${title}`}${notes.length > 0 ? `: ${notes.join(' ')}` : ''}`;

/** The numbers of a run in a table of two columns. */
export const summaryOf = (report: ImportReport, requests: number): [string, string][] => [
  ...Object.entries(countOutcomes(report))
    .filter(([, count]) => count > 0)
    .map(([outcome, count]): [string, string] => [`Assets ${outcomes[outcome as Moved['outcome']]}`, String(count)]),
  ['Assets with notes', String(report.assets.filter(({ notes }) => notes.length > 0).length)],
  ['New playback restrictions', String(report.playbackRestrictions)],
  ['Requests to the source', String(requests)],
];

/** The report of `--json`. */
export const jsonOf = (report: ImportReport, requests: number): object => ({
  counts: countOutcomes(report),
  playback_restrictions: report.playbackRestrictions,
  requests,
  stopped: report.isStopped,
  remarks: report.remarks,
  assets: report.assets.map(({ assetId, title, outcome, notes }) => ({
    id: assetId,
    ...(title && { title }),
    outcome,
    notes,
  })),
});
