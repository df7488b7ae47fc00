import type { Row } from '../../db/schema.js';
import {
  countPlaybackRestrictions,
  findPlaybackRestriction,
  insertPlaybackRestriction,
  listPlaybackRestrictions as listRows,
  removePlaybackRestriction,
  updatePlaybackRestriction,
} from '../../db/tables/playback/playback-restriction.js';
import { KinoraError } from '../../lib/errors.js';
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
 * @throws KinoraError `not_found`
 */
export const deletePlaybackRestriction = async (
  context: DomainContext,
  environmentId: string,
  id: string,
): Promise<void> => {
  const removed = isId(id) && (await removePlaybackRestriction(context.database.queryable, environmentId, id));
  if (!removed) throw new KinoraError('not_found');
  context.onPlaybackRestrictionChanged(id);
};
