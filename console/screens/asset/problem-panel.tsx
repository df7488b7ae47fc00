import { CircleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { useLocation } from 'wouter';
import { type Asset, problemQuery, retryAsset } from '../../api/assets';
import { usePermission } from '../../api/session';
import { formatDate } from '../../lib/format';
import { Button } from '../../ui/button';
import { CodeBlock, CopyButton } from '../../ui/copy';
import { Loaded } from '../../ui/page';
import { useAction } from '../../ui/use-action';

/** Why the asset has failed, at which step, and what can be done about it. */
export const ProblemPanel = ({ asset }: { readonly asset: Asset }): ReactNode => {
  const [, navigate] = useLocation();
  const mayWrite = usePermission('video:write');
  const retry = useAction(() => retryAsset(asset.id), {
    done: 'A new asset is being made of the same input.',
    refresh: [['asset', 'list']],
    onDone: ({ data }) => navigate(`/assets/${data.id}`),
  });
  return (
    <section className="stage problem" aria-label="Problem">
      <Loaded query={problemQuery(asset.id)}>
        {({ sentence, stage, request_id: requestId, occurred_at: occurredAt, details, can_retry: canRetry }) => (
          <>
            <p className="problem-sentence">
              <CircleAlert aria-hidden />
              {sentence}
            </p>
            <dl className="facts">
              {stage && (
                <>
                  <dt>Stage</dt>
                  <dd>{stage}</dd>
                </>
              )}
              {requestId && (
                <>
                  <dt>Request ID</dt>
                  <dd>
                    <code>{requestId}</code> <CopyButton text={requestId} what="request ID" />
                  </dd>
                </>
              )}
              {occurredAt && (
                <>
                  <dt>Time</dt>
                  <dd>{formatDate(occurredAt)}</dd>
                </>
              )}
            </dl>
            {details !== undefined && details !== null && (
              <details>
                <summary>Technical details</summary>
                <CodeBlock
                  text={typeof details === 'string' ? details : JSON.stringify(details, undefined, 2)}
                  what="the details"
                />
              </details>
            )}
            {mayWrite &&
              (canRetry ? (
                <div>
                  <Button look="primary" isBusy={retry.isPending} onClick={() => retry.mutate(undefined)}>
                    Try again
                  </Button>
                </div>
              ) : (
                <p className="field-hint">The input is not kept, so this can't be repeated. Upload the file again.</p>
              ))}
          </>
        )}
      </Loaded>
    </section>
  );
};
