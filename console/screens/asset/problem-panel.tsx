import { useQuery } from '@tanstack/react-query';
import { CircleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { useLocation } from 'wouter';
import { type Asset, problemQuery, retryAsset } from '../../api/assets';
import { usePermission } from '../../api/session';
import { formatDate } from '../../lib/format';
import { Button } from '../../ui/button';
import { CodeBlock, CopyButton } from '../../ui/copy';
import { useAction } from '../../ui/use-action';

/** What `kinora` advises too. */
const adviceOf = ({ errors }: Asset): string | undefined =>
  errors?.messages.includes('The input URL is not allowed.')
    ? 'To import from a private address, start the server with --allow-private-sources.'
    : undefined;

/** Why the asset has failed, at which step, and what can be done about it. */
export const ProblemPanel = ({ asset }: { readonly asset: Asset }): ReactNode => {
  const [, navigate] = useLocation();
  const mayWrite = usePermission('video:write');
  const retry = useAction(() => retryAsset(asset.id), {
    done: 'A new asset is being made of the same input.',
    refresh: [['asset', 'list']],
    onDone: ({ data }) => navigate(`/assets/${data.id}`),
  });
  // What the asset itself says is known at once, also when the rest can't be loaded.
  const { data: problem } = useQuery(problemQuery(asset.id));
  const facts = [
    ['Input', problem?.input_url],
    ['Stage', problem?.stage],
    ['Time', problem?.occurred_at && formatDate(problem.occurred_at)],
  ] as const;
  const advice = adviceOf(asset);
  return (
    <section className="stage problem" aria-label="Problem">
      <p className="problem-sentence">
        <CircleAlert aria-hidden />
        {problem?.sentence ?? asset.errors?.messages.join(' ') ?? 'The asset has failed.'}
      </p>
      {advice && <p>{advice}</p>}
      <dl className="facts">
        {facts.map(
          ([name, value]) =>
            value && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ),
        )}
        {problem?.request_id && (
          <div>
            <dt>Request ID</dt>
            <dd>
              <code>{problem.request_id}</code> <CopyButton text={problem.request_id} what="request ID" />
            </dd>
          </div>
        )}
      </dl>
      {problem?.details !== undefined && problem.details !== null && (
        <details>
          <summary>Technical details</summary>
          <CodeBlock
            text={typeof problem.details === 'string' ? problem.details : JSON.stringify(problem.details, undefined, 2)}
            what="the details"
          />
        </details>
      )}
      {mayWrite && problem?.can_retry && (
        <div>
          <Button look="primary" isBusy={retry.isPending} onClick={() => retry.mutate(undefined)}>
            Try again
          </Button>
        </div>
      )}
      {mayWrite && problem?.can_retry === false && (
        <p className="field-hint">This can't be repeated: the input is not kept. Upload the file again.</p>
      )}
    </section>
  );
};
