import { type FormEvent, type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { usePermission } from '../../api/session';
import { createWebhook, type Webhook, webhooksQuery } from '../../api/webhooks';
import { formatAgo, formatDate } from '../../lib/format';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { EmptyState } from '../../ui/empty-state';
import { TextField } from '../../ui/field';
import { Loaded, Page } from '../../ui/page';
import { NewSecret } from '../../ui/secret';
import { Status } from '../../ui/status';
import { type Column, Table } from '../../ui/table';
import { useAction } from '../../ui/use-action';

const columns: readonly Column<Webhook>[] = [
  { key: 'address', title: 'Address', cell: ({ id, address }) => <Link href={`/webhooks/${id}`}>{address}</Link> },
  {
    key: 'enabled',
    title: 'Status',
    cell: ({ enabled }) => <Status status={enabled ? 'active' : 'disabled'} />,
  },
  {
    key: 'created',
    title: 'Created',
    isEnd: true,
    isWide: true,
    cell: ({ created_at: createdAt }) => <time title={formatDate(createdAt)}>{formatAgo(createdAt)}</time>,
  },
];

/** The receivers of the environment's events. */
const Webhooks = (): ReactNode => {
  const mayWrite = usePermission('system:write');
  const [isAdding, setAdding] = useState(false);
  return (
    <Page
      title="Webhooks"
      actions={
        mayWrite && (
          <Button look="primary" onClick={() => setAdding(true)}>
            Add webhook
          </Button>
        )
      }
    >
      <Loaded query={webhooksQuery}>
        {(webhooks) =>
          webhooks.length === 0 ? (
            <EmptyState title="No webhook receives events">
              <p>A webhook is the URL of your program. Kinora sends it a POST request when something happens.</p>
            </EmptyState>
          ) : (
            <Table label="Webhooks" columns={columns} rows={webhooks} keyOf={({ id }) => id} />
          )
        }
      </Loaded>
      <AddWebhook isOpen={isAdding} onClose={() => setAdding(false)} />
    </Page>
  );
};
export default Webhooks;

const problemOf = ({ message }: Error): string =>
  message === 'address is not allowed'
    ? 'The address is on a private network. Set KINORA_ALLOW_PRIVATE_SOURCES to allow it.'
    : message;

const AddWebhook = ({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }): ReactNode => {
  const [secret, setSecret] = useState<string>();
  const add = useAction(createWebhook, {
    refresh: [webhooksQuery.queryKey],
    onDone: ({ signing_secret: value }) => setSecret(value),
    isSilent: true,
  });
  const close = (): void => {
    setSecret(undefined);
    add.reset();
    onClose();
  };
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    add.mutate(String(new FormData(event.currentTarget).get('address')).trim());
  };
  return (
    <Dialog isOpen={isOpen} onClose={close} title={secret === undefined ? 'Add webhook' : 'Webhook added'}>
      {secret === undefined ? (
        <form className="form" onSubmit={submit}>
          <TextField
            name="address"
            label="Address"
            type="url"
            required
            placeholder="https://example.com/webhooks"
            error={add.error ? problemOf(add.error) : undefined}
          />
          <div className="dialog-actions">
            <Button onClick={close}>Cancel</Button>
            <Button type="submit" look="primary" isBusy={add.isPending}>
              Add
            </Button>
          </div>
        </form>
      ) : (
        <NewSecret secret={secret} what="signing secret" onClose={close}>
          Your program checks the signature of each event with it.
        </NewSecret>
      )}
    </Dialog>
  );
};
