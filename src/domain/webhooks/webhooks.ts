import type { Row } from '../../db/schema.js';
import {
  findWebhook,
  insertWebhook,
  listWebhooks as listWebhookRows,
  lockWebhook,
  removeWebhook,
  updateWebhook as updateWebhookRow,
} from '../../db/tables/server/webhook.js';
import { stopDeliveries } from '../../db/tables/server/webhook-delivery.js';
import { KinoraError } from '../../lib/errors.js';
import { isShortId, newShortId, newSigningSecret } from '../../lib/ids.js';
import { Problems } from '../../lib/problems.js';
import type { WebhookSender } from '../../net/send-webhook.js';
import type { DomainContext } from '../context.js';

export interface NewWebhook {
  readonly address: string;
}

/** At least one field. */
export type WebhookUpdate = Partial<NewWebhook> & { readonly enabled?: boolean | undefined };

const rejectAddress = (complaint: string): never => {
  const problems = new Problems();
  problems.add(['address'], complaint);
  problems.throwIfAny({});
  throw new KinoraError('invalid_parameters');
};

const IN_USE = 'is already in use by another webhook';

const checkAllowed = async (sender: WebhookSender, address: string): Promise<void> => {
  if (!(await sender.allows(address))) rejectAddress('is not allowed');
};

/** @throws KinoraError `invalid_parameters` for a URL that is refused or in use */
export const createWebhook = async (
  context: DomainContext,
  sender: WebhookSender,
  environmentId: string,
  { address }: NewWebhook,
): Promise<Row<'webhook'>> => {
  await checkAllowed(sender, address);
  const created = await insertWebhook(context.database.queryable, {
    id: newShortId(),
    environment_id: environmentId,
    address,
    signing_secret: newSigningSecret(),
    created_at: context.clock.now(),
  });
  return created ?? rejectAddress(IN_USE);
};

/** @throws KinoraError `not_found` */
export const getWebhook = async (
  context: DomainContext,
  environmentId: string,
  webhookId: string,
): Promise<Row<'webhook'>> => {
  const db = context.database.queryable;
  const webhook = isShortId(webhookId) ? await findWebhook(db, environmentId, webhookId) : undefined;
  if (!webhook) throw new KinoraError('not_found');
  return webhook;
};

/** Newest first. */
export const listWebhooks = (
  context: DomainContext,
  environmentId: string,
  page: { limit: number; offset: number },
): Promise<Row<'webhook'>[]> => listWebhookRows(context.database.queryable, environmentId, page);

/**
 * Deliveries that wait when a webhook is disabled are never sent, because their events would arrive
 * too late.
 * @throws KinoraError `not_found`; `invalid_parameters` for a URL that is refused or in use
 */
export const updateWebhook = async (
  context: DomainContext,
  sender: WebhookSender,
  { environment_id: environmentId, id, ...before }: Row<'webhook'>,
  change: WebhookUpdate,
): Promise<Row<'webhook'>> => {
  if (change.address !== undefined && change.address !== before.address) await checkAllowed(sender, change.address);
  return context.database.transaction(async (tx) => {
    if (!(await lockWebhook(tx, environmentId, id))) throw new KinoraError('not_found');
    if (change.enabled === false) await stopDeliveries(tx, id, context.clock.now());
    return (await updateWebhookRow(tx, id, change)) ?? rejectAddress(IN_USE);
  });
};

/**
 * Its deliveries are deleted too.
 * @throws KinoraError `not_found`
 */
export const deleteWebhook = async (
  context: DomainContext,
  environmentId: string,
  webhookId: string,
): Promise<void> => {
  const db = context.database.queryable;
  if (!isShortId(webhookId) || !(await removeWebhook(db, environmentId, webhookId))) throw new KinoraError('not_found');
};
