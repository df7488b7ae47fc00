import type { Database } from '../../db/database.js';
import { CHANGES, readChange } from '../../db/tables/server/change.js';
import type { RenditionOpener } from '../renditions/open-rendition.js';
import type { BudgetLimits } from '../usage/budget-limits.js';
import type { AccessCheck } from './access-check.js';
import type { PlayableFinder } from './playable-finder.js';

interface Memories {
  readonly playables: Pick<PlayableFinder, 'forget' | 'expireAll'>;
  readonly renditions: Pick<RenditionOpener, 'forget'>;
  readonly access: Pick<
    AccessCheck,
    'forgetSigningKey' | 'forgetPlaybackRestriction' | 'forgetPublicRestriction' | 'expireAll'
  >;
  readonly budgets: Pick<BudgetLimits, 'refresh'>;
}

/**
 * Makes changes by other servers visible as soon as they are committed. Returns a function that
 * stops it. Without notifications, changes are seen when what is in memory expires.
 */
export const watchPlaybackChanges = (
  database: Database,
  { playables, renditions, access, budgets }: Memories,
): Promise<() => Promise<void>> =>
  database.listen(
    CHANGES,
    (payload) => {
      const { kind, id } = readChange(payload);
      if (kind === 'asset') {
        playables.forget(id);
        renditions.forget(id);
      }
      if (kind === 'live_stream') playables.forget(id);
      if (kind === 'signing_key') access.forgetSigningKey(id);
      if (kind === 'playback_restriction') access.forgetPlaybackRestriction(id);
      if (kind === 'public_playback') access.forgetPublicRestriction(id);
      if (kind === 'delivery_budget') void budgets.refresh();
    },
    () => {
      playables.expireAll();
      access.expireAll();
      void budgets.refresh();
    },
  );
