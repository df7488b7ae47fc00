import type { Caller } from '../../domain/access/authenticate.js';
import type { Permission } from '../../domain/access/permissions.js';
import type { Session } from '../../domain/access/sessions.js';
import { KinoraError } from '../../lib/errors.js';

/** @throws KinoraError `forbidden` */
export const requirePermission = ({ permissions }: Caller, permission: Permission): void => {
  if (!permissions.includes(permission)) throw new KinoraError('forbidden');
};

/** @throws KinoraError `forbidden` for sessions of an access token */
export const requireAdministrator = ({ canAdminister }: Session): void => {
  if (canAdminister) return;
  const messages = ['This requires a session that was opened with a link. Print one with kinora console.'];
  throw new KinoraError('forbidden', { messages });
};
