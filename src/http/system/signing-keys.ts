import { serializeSigningKey } from '../../api/responses/playback-access.js';
import { readPageQuery } from '../../api/validate/list-query.js';
import type { DomainContext } from '../../domain/context.js';
import {
  createSigningKey,
  deleteSigningKey,
  getSigningKey,
  listSigningKeys,
} from '../../domain/signing/signing-keys.js';
import type { Route } from '../plugins/operation-route.js';

/** The same four operations at their current path and at the deprecated one below `/video`. */
export const signingKeyRoutes = (route: Route, context: DomainContext): void => {
  for (const id of ['createSigningKey', 'createVideoSigningKey'] as const) {
    route(id, async ({ caller }) => {
      const { key, privateKeyPem } = await createSigningKey(context, caller.environment.id);
      return { data: serializeSigningKey(key, privateKeyPem) };
    });
  }
  for (const id of ['listSigningKeys', 'listVideoSigningKeys'] as const) {
    route(id, async ({ caller, query }) => {
      const page = readPageQuery(query);
      const keys = await listSigningKeys(context, caller.environment.id, page);
      return { data: keys.map((key) => serializeSigningKey(key)) };
    });
  }
  for (const id of ['getSigningKey', 'getVideoSigningKey'] as const) {
    route(id, async ({ caller, params }) => ({
      data: serializeSigningKey(await getSigningKey(context, caller.environment.id, params.signingKeyId!)),
    }));
  }
  for (const id of ['deleteSigningKey', 'deleteVideoSigningKey'] as const) {
    route(id, async ({ caller, params }) => {
      await deleteSigningKey(context, caller.environment.id, params.signingKeyId!);
      return undefined;
    });
  }
};
