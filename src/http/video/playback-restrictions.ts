import { serializePlaybackRestriction } from '../../api/responses/playback-access.js';
import { readPageQuery } from '../../api/validate/list-query.js';
import {
  validateCreatePlaybackRestriction,
  validateReferrerRules,
  validateUserAgentRules,
} from '../../api/validate/playback-restriction.js';
import type { DomainContext } from '../../domain/context.js';
import {
  changePlaybackRestriction,
  createPlaybackRestriction,
  deletePlaybackRestriction,
  getPlaybackRestriction,
  listPlaybackRestrictions,
} from '../../domain/playback/playback-restrictions.js';
import type { Route } from '../plugins/operation-route.js';

export const playbackRestrictionRoutes = (route: Route, context: DomainContext): void => {
  route('createPlaybackRestriction', async ({ caller, body }) => {
    const rules = validateCreatePlaybackRestriction(body ?? {});
    const created = await createPlaybackRestriction(context, caller.environment.id, rules);
    return { data: serializePlaybackRestriction(created) };
  });

  route('listPlaybackRestrictions', async ({ caller, query }) => {
    const { page, limit, offset } = readPageQuery(query);
    const { restrictions, total } = await listPlaybackRestrictions(context, caller.environment.id, { limit, offset });
    const data = restrictions.map(serializePlaybackRestriction);
    return { data, total_row_count: total, page, limit };
  });

  route('getPlaybackRestriction', async ({ caller, params }) => ({
    data: serializePlaybackRestriction(
      await getPlaybackRestriction(context, caller.environment.id, params.playbackRestrictionId!),
    ),
  }));

  route('deletePlaybackRestriction', async ({ caller, params }) => {
    await deletePlaybackRestriction(context, caller.environment.id, params.playbackRestrictionId!);
    return undefined;
  });

  route('updatePlaybackRestrictionReferrer', async ({ caller, params, body }) => {
    const { id } = await getPlaybackRestriction(context, caller.environment.id, params.playbackRestrictionId!);
    const rules = { referrer: validateReferrerRules(body ?? {}) };
    return {
      data: serializePlaybackRestriction(await changePlaybackRestriction(context, caller.environment.id, id, rules)),
    };
  });

  route('updatePlaybackRestrictionUserAgent', async ({ caller, params, body }) => {
    const { id } = await getPlaybackRestriction(context, caller.environment.id, params.playbackRestrictionId!);
    const rules = { user_agent: validateUserAgentRules(body ?? {}) };
    return {
      data: serializePlaybackRestriction(await changePlaybackRestriction(context, caller.environment.id, id, rules)),
    };
  });
};
