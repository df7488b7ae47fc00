import type { FastifyInstance, FastifyRequest } from 'fastify';
import {
  createEnvironment,
  type EnvironmentInfo,
  listEnvironments,
  updateEnvironment,
} from '../../domain/access/environments.js';
import type { Session } from '../../domain/access/sessions.js';
import { createToken, listTokens, revokeToken, type TokenInfo } from '../../domain/access/tokens.js';
import { invalidParameters } from '../../lib/errors.js';
import { findSession } from '../plugins/find-session.js';
import type { ConsoleDeps } from './console-deps.js';
import { oneOf, readFields, readText } from './read-fields.js';
import { requireAdministrator } from './require-permission.js';

const TYPES = ['development', 'production'] as const;
const QUALITIES = ['basic', 'plus', 'premium'] as const;
const MAX_NAME_LENGTH = 100;

type WithId = { Params: { id: string } };

/**
 * Access tokens and environments, which the API does not manage: their callers are tokens
 * themselves.
 */
export const accessRoutes = (app: FastifyInstance, deps: ConsoleDeps): void => {
  const { database, clock, sessions, logger } = deps;
  const administrator = async (request: FastifyRequest): Promise<Session> => {
    const session = await findSession(request, sessions);
    requireAdministrator(session);
    return session;
  };

  app.get('/tokens', async (request) => {
    await administrator(request);
    return { data: (await listTokens(database)).map(showToken) };
  });

  app.post('/tokens', async (request, reply) => {
    const { caller } = await administrator(request);
    const fields = readFields(request.body, ['name', 'environment_id', 'expires_at']);
    const environmentId = fields.environment_id ?? caller.environment.id;
    const name = readText(fields.name, 'name', MAX_NAME_LENGTH);
    const expiresAt = readTime(fields.expires_at, clock.now());
    const token = await createToken(
      database,
      { name, environmentId, permissions: readPermissions(request.body), expiresAt },
      clock,
    );
    const [id, secret] = token.split(':') as [string, string];
    logger.info({ created_token_id: id }, 'access token created');
    const created = (await listTokens(database)).find((info) => info.id === id)!;
    return reply.code(201).send({ ...showToken(created), secret });
  });

  app.delete<WithId>('/tokens/:id', async (request, reply) => {
    await administrator(request);
    await revokeToken(database, request.params.id, clock);
    logger.info({ revoked_token_id: request.params.id }, 'access token revoked');
    return reply.code(204).send();
  });

  app.get('/environments', async (request) => {
    const { caller, canAdminister } = await findSession(request, sessions);
    const all = await listEnvironments(database);
    return { data: all.filter(({ id }) => canAdminister || id === caller.environment.id).map(showEnvironment) };
  });

  app.post('/environments', async (request, reply) => {
    await administrator(request);
    const fields = readFields(request.body, ['name', 'type', 'default_video_quality']);
    const videoQuality = oneOf(fields.default_video_quality, 'default_video_quality', QUALITIES);
    const environment = await createEnvironment(
      database,
      {
        name: readText(fields.name, 'name', MAX_NAME_LENGTH),
        type: oneOf(fields.type, 'type', TYPES) ?? 'production',
        videoQuality,
      },
      clock,
    );
    return reply.code(201).send(showEnvironment(environment));
  });

  app.patch<WithId>('/environments/:id', async (request) => {
    await administrator(request);
    const fields = readFields(request.body, ['name', 'default_video_quality']);
    const videoQuality = oneOf(fields.default_video_quality, 'default_video_quality', QUALITIES);
    const name = fields.name === undefined ? undefined : readText(fields.name, 'name', MAX_NAME_LENGTH);
    if (name === undefined && !videoQuality) throw invalidParameters('name or default_video_quality is required.');
    return showEnvironment(await updateEnvironment(database, request.params.id, { name, videoQuality }));
  });
};

const showToken = ({ id, name, environmentId, permissions, createdAt, revokedAt, expiresAt }: TokenInfo): object => ({
  id,
  name,
  environment_id: environmentId,
  permissions,
  created_at: createdAt.toISOString(),
  revoked_at: revokedAt?.toISOString() ?? null,
  expires_at: expiresAt?.toISOString() ?? null,
});

const showEnvironment = ({ id, name, type, videoQuality, createdAt }: EnvironmentInfo): object => ({
  id,
  name,
  type,
  default_video_quality: videoQuality,
  created_at: createdAt.toISOString(),
});

/** At least one; which ones exist is checked where the token is created. */
const readPermissions = (body: unknown): string[] => {
  const { permissions } = body as { permissions?: unknown };
  const isList = Array.isArray(permissions) && permissions.every((name) => typeof name === 'string');
  if (!isList || permissions.length === 0) {
    throw invalidParameters('permissions must be a list with at least one permission, such as "video:read".');
  }
  return [...new Set(permissions as string[])];
};

/** A time in the future; undefined when absent. */
const readTime = (text: string | undefined, now: Date): Date | undefined => {
  if (text === undefined) return undefined;
  const time = new Date(text);
  // The second condition is also false for text that is not a time.
  if (/^\d{4}-\d\d-\d\d/.test(text) && time.getTime() > now.getTime()) return time;
  throw invalidParameters('expires_at must be a time in the future, such as "2030-01-31T12:00:00Z".');
};
