import type { ReactNode } from 'react';
import { usePermission } from '../../api/session';
import { type Attempt, type Delivery, redeliver, webhookQuery } from '../../api/webhooks';
import { countOf, formatAgo, formatDate } from '../../lib/format';
import { Button } from '../../ui/button';
import { CodeBlock } from '../../ui/copy';
import { Status } from '../../ui/status';
import { useAction } from '../../ui/use-action';

/** What came of the last attempt, in a few words. */
export const outcomeOf = ({ attempts, state }: Delivery): string => {
  const last = attempts.at(-1);
  if (!last) return state === 'pending' ? 'not sent yet' : 'never sent';
  return last.response_status_code === undefined ? (last.error ?? 'no answer') : `status ${last.response_status_code}`;
};

interface DeliveryEntryProps {
  readonly webhookId: string;
  readonly delivery: Delivery;
}

/** A delivery that opens to its attempts. */
export const DeliveryEntry = ({ webhookId, delivery }: DeliveryEntryProps): ReactNode => {
  const { id, event, state, attempts, created_at: createdAt, next_attempt_at: nextAttemptAt } = delivery;
  const mayWrite = usePermission('system:write');
  const again = useAction(() => redeliver(webhookId, id), {
    refresh: [webhookQuery(webhookId).queryKey],
    done: 'The event is sent again.',
  });
  return (
    <details className="entry">
      <summary>
        <Status status={state} />
        <span className="entry-title">{event.type}</span>
        <span className="entry-side">
          {outcomeOf(delivery)} · <time title={formatDate(createdAt)}>{formatAgo(createdAt)}</time>
        </span>
      </summary>
      <div className="entry-body">
        <p>
          {event.object.type} <code>{event.object.id}</code>, event <code>{event.id}</code>,{' '}
          {countOf(attempts.length, 'attempt')}
          {state === 'pending' && nextAttemptAt !== undefined && `, next ${formatAgo(nextAttemptAt)}`}
        </p>
        {attempts.map((attempt) => (
          <AttemptEntry key={attempt.number} attempt={attempt} />
        ))}
        {mayWrite && attempts.length > 0 && (
          <Button isBusy={again.isPending} onClick={() => again.mutate(undefined)}>
            Send again
          </Button>
        )}
      </div>
    </details>
  );
};

const AttemptEntry = ({ attempt }: { readonly attempt: Attempt }): ReactNode => {
  const { number, created_at: createdAt, duration_ms: durationMs, response_status_code: status, error } = attempt;
  return (
    <div className="attempt">
      <p>
        Attempt {number}, {formatDate(createdAt)}: {status === undefined ? (error ?? 'no answer') : `status ${status}`}{' '}
        after {durationMs} ms
      </p>
      {attempt.response_body !== undefined && attempt.response_body !== '' && (
        <CodeBlock text={attempt.response_body} what={`answer to attempt ${number}`} />
      )}
    </div>
  );
};
