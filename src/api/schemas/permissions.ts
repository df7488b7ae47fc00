/** What a token may be allowed to do. */
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
