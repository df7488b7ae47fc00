import type { Permission } from '../../api/schemas/permissions.js';
import type { Caller } from '../../domain/access/authenticate.js';
import { KinoraError } from '../../lib/errors.js';

/** @throws KinoraError `forbidden` */
export const requirePermission = ({ permissions }: Caller, permission: Permission): void => {
  if (!permissions.includes(permission)) throw new KinoraError('forbidden');
};
