import type { SpentBudget } from '../../db/tables/playback/delivery-budget.js';
import type { findPlaybackRestrictionRules, PublicRestriction } from '../../db/tables/playback/playback-restriction.js';
import type { findVerificationKeys } from '../../db/tables/playback/signing-key.js';
import type { OwnedPlaybackId } from '../playback/access-check.js';

/** What edges ask their origin, and where: the bodies are JSON. */
export const LOOKUP_PATH = '/edge/v1/lookup';
export const DELIVERIES_PATH = '/edge/v1/deliveries';

export interface Lookup {
  readonly playbackIds?: readonly string[];
  readonly signingKeys?: readonly string[];
  readonly playbackRestrictions?: readonly string[];
  /** Environments, for the restrictions of their public playback IDs. */
  readonly publicRestrictions?: readonly string[];
  /** The budgets that are spent are asked for. */
  readonly budgets?: true;
}

export type FoundPlaybackId = OwnedPlaybackId & { readonly assetId: string };

export interface LookupResponse {
  readonly playbackIds: readonly FoundPlaybackId[];
  readonly signingKeys: Awaited<ReturnType<typeof findVerificationKeys>>;
  readonly playbackRestrictions: Awaited<ReturnType<typeof findPlaybackRestrictionRules>>;
  readonly publicRestrictions?: readonly PublicRestriction[];
  readonly budgets?: readonly SpentBudget[];
}

/** What an edge has sent of a segment. */
export interface EdgeDelivery {
  readonly playbackId: string;
  readonly rendition: string;
  readonly file: string;
  /** How often as a whole. */
  readonly count: number;
  /** In all. */
  readonly bytes: number;
  /** A segment or a part of a broadcast. */
  readonly live?: true;
  /** Another server has passed it on to the one with the broadcast. */
  readonly passed?: true;
}

/** In one call. */
export const MAX_LOOKUP_IDS = 1000;
export const MAX_EDGE_DELIVERIES = 2000;
