import { useInfiniteQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { usePermission } from '../../api/session';
import {
  deleteWebhook,
  deliveriesQuery,
  testWebhook,
  updateWebhook,
  type Webhook,
  webhookQuery,
  webhooksQuery,
} from '../../api/webhooks';
import { Button } from '../../ui/button';
import { confirm } from '../../ui/confirm';
import { EmptyState } from '../../ui/empty-state';
import { ErrorNotice, Loaded, Loading, Page, Section } from '../../ui/page';
import { Status } from '../../ui/status';
import { useAction } from '../../ui/use-action';
import { DeliveryEntry, outcomeOf } from './delivery-entry';

/** One webhook and what was sent to it. */
const WebhookScreen = ({ params: { id } }: { readonly params: { readonly id: string } }): ReactNode => (
  <Loaded query={webhookQuery(id)}>{(webhook) => <Details webhook={webhook} />}</Loaded>
);
export default WebhookScreen;

const Details = ({ webhook: { id, address, enabled } }: { readonly webhook: Webhook }): ReactNode => {
  const mayWrite = usePermission('system:write');
  const [, navigate] = useLocation();
  const refresh = [webhookQuery(id).queryKey, webhooksQuery.queryKey];
  const toggle = useAction(() => updateWebhook(id, { enabled: !enabled }), {
    refresh,
    done: enabled ? 'The webhook is disabled.' : 'The webhook is enabled.',
  });
  const test = useAction(() => testWebhook(id), { refresh, done: (delivery) => `Test event: ${outcomeOf(delivery)}.` });
  const remove = useAction(() => deleteWebhook(id), {
    refresh: [webhooksQuery.queryKey],
    done: 'The webhook is deleted.',
    onDone: () => navigate('/webhooks'),
  });
  const askToRemove = async (): Promise<void> => {
    const isConfirmed = await confirm({
      title: 'Delete this webhook?',
      text: `Events are no longer sent to ${address}. Deliveries that wait are stopped.`,
      action: 'Delete',
    });
    if (isConfirmed) remove.mutate(undefined);
  };
  return (
    <Page
      title={address}
      windowTitle="Webhook"
      above={<Link href="/webhooks">Webhooks</Link>}
      actions={
        mayWrite && (
          <>
            <Button isBusy={test.isPending} onClick={() => test.mutate(undefined)}>
              Send test event
            </Button>
            <Button isBusy={toggle.isPending} onClick={() => toggle.mutate(undefined)}>
              {enabled ? 'Disable' : 'Enable'}
            </Button>
            <Button look="delete" isBusy={remove.isPending} onClick={() => void askToRemove()}>
              Delete
            </Button>
          </>
        )
      }
    >
      <Status status={enabled ? 'active' : 'disabled'} />
      <Section title="Deliveries">
        <Deliveries webhookId={id} />
      </Section>
    </Page>
  );
};

const Deliveries = ({ webhookId }: { readonly webhookId: string }): ReactNode => {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    deliveriesQuery(webhookId),
  );
  if (!data) return error ? <ErrorNotice error={error} onRetry={() => void refetch()} /> : <Loading />;
  const deliveries = data.pages.flatMap((page) => page.data);
  if (deliveries.length === 0)
    return (
      <EmptyState title="Nothing was sent yet">
        <p>Events appear here when something happens, such as when an asset is ready.</p>
      </EmptyState>
    );
  return (
    <>
      <ul className="entries">
        {deliveries.map((delivery) => (
          <li key={delivery.id}>
            <DeliveryEntry webhookId={webhookId} delivery={delivery} />
          </li>
        ))}
      </ul>
      {hasNextPage && (
        <Button isBusy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show older deliveries
        </Button>
      )}
    </>
  );
};
