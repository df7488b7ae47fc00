import type { Queryable } from '../../db/database.js';
import { isLeased, releaseLease, takeLease } from '../../db/tables/server/node.js';

/**
 * For how long the broadcasts of a server wait for it. Longer than a restart takes: recordings are
 * on its disk until they end.
 */
const LEASE_SECONDS = 60;
export const RENEW_LIVE_LEASE_MS = 10_000;

const nameOf = (ownerId: string): string => `live ${ownerId}`;

/** Says that a server runs, which has broadcasts as `live_stream.node_id`. */
export const renewLiveLease = (db: Queryable, ownerId: string): Promise<boolean> =>
  takeLease(db, { name: nameOf(ownerId), holder: ownerId, seconds: LEASE_SECONDS });

/** For a server that stops without broadcasts: nothing waits for it. */
export const releaseLiveLease = (db: Queryable, ownerId: string): Promise<void> =>
  releaseLease(db, { name: nameOf(ownerId), holder: ownerId });

/** Whether a server has run within the last minute. */
export const hasLiveLease = (db: Queryable, ownerId: string): Promise<boolean> => isLeased(db, nameOf(ownerId));
