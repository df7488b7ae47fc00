import type { Row } from '../../db/schema.js';
import {
  countPlaybackRestrictions,
  findPlaybackRestriction,
  findPublicRestrictions,
  insertPlaybackRestriction,
  listPlaybackRestrictions as listRows,
  removePlaybackRestriction,
  updatePlaybackRestriction,
  updatePublicRestriction,
} from '../../db/tables/playback/playback-restriction.js';
import { invalidParameters, KinoraError } from '../../lib/errors.js';
import { isId, newId } from '../../lib/ids.js';
import type { DomainContext } from '../context.js';

type Restriction = Row<'playback_restriction'>;

/** The rules of a restriction with all defaults filled in. */
export type PlaybackRestrictionRules = Pick<Restriction, 'referrer' | 'user_agent'>;

export const createPlaybackRestriction = (
  context: DomainContext,
  environmentId: string,
  rules: PlaybackRestrictionRules,
): Promise<Restriction> =>
  insertPlaybackRestriction(context.database.queryable, {
    id: newId(),
    environment_id: environmentId,
    created_at: context.clock.now(),
    ...rules,
  });

/** Newest first, with the total count. */
export const listPlaybackRestrictions = async (
  context: DomainContext,
  environmentId: string,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly restrictions: Restriction[]; readonly total: number }> => {
  const db = context.database.queryable;
  const [restrictions, total] = await Promise.all([
    listRows(db, environmentId, page),
    countPlaybackRestrictions(db, environmentId),
  ]);
  return { restrictions, total };
};

/** @throws KinoraError `not_found` */
export const getPlaybackRestriction = async (
  context: DomainContext,
  environmentId: string,
  id: string,
): Promise<Restriction> => {
  const row = isId(id) ? await findPlaybackRestriction(context.database.queryable, environmentId, id) : undefined;
  if (!row) throw new KinoraError('not_found');
  return row;
};

/**
 * Replaces one part of the rules. It applies immediately on this server, and within a minute on
 * others.
 * @throws KinoraError `not_found`
 */
export const changePlaybackRestriction = async (
  context: DomainContext,
  environmentId: string,
  id: string,
  rules: Partial<PlaybackRestrictionRules>,
): Promise<Restriction> => {
  const { database, clock } = context;
  const changed = await updatePlaybackRestriction(database.queryable, environmentId, id, rules, clock.now());
  if (!changed) throw new KinoraError('not_found');
  context.onPlaybackRestrictionChanged(id);
  return changed;
};

/**
 * Tokens that name it no longer open anything.
 * @throws KinoraError `not_found`; `invalid_parameters` when it applies to public playback IDs,
 * which would be open to everyone without it
 */
export const deletePlaybackRestriction = async (
  context: DomainContext,
  environmentId: string,
  id: string,
): Promise<void> => {
  const db = context.database.queryable;
  const removed = isId(id) && (await removePlaybackRestriction(db, environmentId, id));
  if (removed === 'in use')
    throw invalidParameters('The playback restriction applies to public playback IDs, which would be open without it');
  if (!removed) throw new KinoraError('not_found');
  context.onPlaybackRestrictionChanged(id);
};

/** The restriction of the environment's public playback IDs; null when everyone may play them. */
export const getPublicRestriction = async (context: DomainContext, environmentId: string): Promise<string | null> =>
  (await findPublicRestrictions(context.database.queryable, [environmentId]))[0]?.restrictionId ?? null;

/**
 * Null allows everyone. Applies immediately on this server, and within a minute on others.
 * @throws KinoraError `invalid_parameters`
 */
export const setPublicRestriction = async (
  context: DomainContext,
  environmentId: string,
  id: string | null,
): Promise<void> => {
  const isKnown =
    (id === null || isId(id)) && (await updatePublicRestriction(context.database.queryable, environmentId, id));
  if (!isKnown) throw invalidParameters('playback_restriction_id does not refer to an existing playback restriction');
  context.onPublicRestrictionChanged(environmentId);
};
