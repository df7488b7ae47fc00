import { serializeCaller } from '../../api/responses/caller.js';
import type { Route } from '../plugins/operation-route.js';

export const whoamiRoutes = (route: Route): void => {
  route('whoami', async ({ caller }) => ({ data: serializeCaller(caller) }));
};
