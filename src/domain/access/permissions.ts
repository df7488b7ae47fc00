/** Permissions of an access token. */
export const permissions = [
  'video:read',
  'video:write',
  'system:read',
  'system:write',
  'data:read',
  'robots:read',
  'robots:write',
] as const;
export type Permission = (typeof permissions)[number];
