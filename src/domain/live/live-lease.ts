import type { Queryable } from '../../db/database.js';
import { isLeased, releaseLease, takeLease } from '../../db/tables/server/node.js';

/**
 * For how long the broadcasts of a server wait for it, before another one continues them from their
 * replicas: hls.js gives up after 12 s. A server that stops hands them over at once.
 */
const LEASE_SECONDS = 8;
export const LIVE_LEASE_MS = LEASE_SECONDS * 1000;
export const RENEW_LIVE_LEASE_MS = 2000;

const nameOf = (ownerId: string): string => `live ${ownerId}`;

/** Says that a server runs, which has broadcasts as `live_stream.node_id`. */
export const renewLiveLease = (db: Queryable, ownerId: string): Promise<boolean> =>
  takeLease(db, { name: nameOf(ownerId), holder: ownerId, seconds: LEASE_SECONDS });

/** For a server that stops: others may continue its broadcasts. */
export const releaseLiveLease = (db: Queryable, ownerId: string): Promise<void> =>
  releaseLease(db, { name: nameOf(ownerId), holder: ownerId });

/** Whether a server still runs, as far as others know. */
export const hasLiveLease = (db: Queryable, ownerId: string): Promise<boolean> => isLeased(db, nameOf(ownerId));
