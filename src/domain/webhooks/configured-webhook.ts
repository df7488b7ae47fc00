import type { Database } from '../../db/database.js';
import { listEnvironments } from '../../db/tables/server/environment.js';
import {
  findConfiguredWebhook,
  findWebhookByAddress,
  insertWebhook,
  removeWebhook,
  updateWebhook,
} from '../../db/tables/server/webhook.js';
import type { Clock } from '../../lib/clock.js';
import { newShortId } from '../../lib/ids.js';

export interface ConfiguredWebhook {
  readonly url?: string | undefined;
  readonly secret?: string | undefined;
}

/**
 * Ensures that the default environment has the configured webhook, enabled and with its secret, and
 * removes the one from an earlier configuration. A webhook with the same URL that was created
 * through the API is adopted. Without a URL, a webhook that another running server may have
 * configured stays.
 * @returns false if it stays
 */
export const keepConfiguredWebhook = async (
  database: Database,
  { url, secret, hasOthers }: ConfiguredWebhook & { readonly hasOthers: boolean },
  clock: Clock,
): Promise<boolean> =>
  database.transaction(async (tx) => {
    const [environment] = await listEnvironments(tx);
    const environmentId = environment!.id;
    const before = await findConfiguredWebhook(tx);
    if (before && url === undefined && hasOthers) return false;
    const same = url === undefined ? undefined : await findWebhookByAddress(tx, environmentId, url);
    if (before && (url === undefined || (same && same.id !== before.id))) {
      await removeWebhook(tx, before.environment_id, before.id);
    }
    if (url === undefined || secret === undefined) return true;
    const fields = { address: url, signing_secret: secret, enabled: true, configured: true };
    const existing = same ?? before;
    if (existing) await updateWebhook(tx, existing.id, fields);
    else
      await insertWebhook(tx, {
        ...fields,
        id: newShortId(),
        environment_id: environmentId,
        created_at: clock.now(),
      });
    return true;
  });
