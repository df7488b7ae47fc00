import type { Row } from '../../db/schema.js';
import type { DomainContext } from '../../domain/context.js';
import type { PageQuery } from '../../domain/requests/list-query.js';
import { KinoraError } from '../../lib/errors.js';
import { isPrefixedId, newPrefixedId } from '../../lib/ids.js';
import type { DirectiveRequest } from '../api/requests.js';
import {
  countDirectives,
  findDirective,
  insertDirective,
  listDirectives as listDirectiveRows,
  markDirectiveDeleted,
} from '../tables/directive.js';

type Directive = Row<'directive'>;

const notFound = (): KinoraError => new KinoraError('not_found', { messages: ['Directive not found'] });

export const createDirective = (
  { database, clock }: DomainContext,
  environmentId: string,
  { name, resources, workflows }: DirectiveRequest,
): Promise<Directive> =>
  insertDirective(database.queryable, {
    id: newPrefixedId('drv'),
    environment_id: environmentId,
    created_at: clock.now(),
    name,
    resources: [...resources],
    workflows: [...workflows],
  });

/** Newest first. */
export const listDirectives = async ({ database }: DomainContext, environmentId: string, page: PageQuery) => ({
  directives: await listDirectiveRows(database.queryable, environmentId, page),
  total: await countDirectives(database.queryable, environmentId),
});

/** @throws KinoraError `not_found` */
export const getDirective = async (
  { database }: DomainContext,
  environmentId: string,
  id: string,
): Promise<Directive> => {
  const directive = isPrefixedId('drv', id) ? await findDirective(database.queryable, environmentId, id) : undefined;
  if (!directive) throw notFound();
  return directive;
};

/**
 * Runs in progress continue.
 * @throws KinoraError `not_found`
 */
export const deleteDirective = async (
  { database, clock }: DomainContext,
  environmentId: string,
  id: string,
): Promise<void> => {
  const isGone =
    isPrefixedId('drv', id) && (await markDirectiveDeleted(database.queryable, environmentId, id, clock.now()));
  if (!isGone) throw notFound();
};
