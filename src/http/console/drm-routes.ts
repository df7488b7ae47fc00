import type { FastifyInstance, FastifyRequest } from 'fastify';
import {
  createDrmConfiguration,
  deleteDrmConfiguration,
  getDrmConfiguration,
  listDrmConfigurations,
} from '../../domain/drm/configurations.js';
import { type DrmField, drmFields, readDrmConfiguration } from '../../domain/drm/read-configuration.js';
import { showDrmConfiguration } from '../../domain/drm/show-configuration.js';
import { invalidParameters, KinoraError } from '../../lib/errors.js';
import { findSession } from '../plugins/find-session.js';
import type { ConsoleDeps } from './console-deps.js';
import { requireAdministrator } from './require-permission.js';

/** Of a FairPlay certificate in base64. */
const MAX_CERTIFICATE_LENGTH = 100_000;

/**
 * DRM configurations of the session's environment, which the API only lists. Answers never contain
 * their secrets.
 */
export const drmRoutes = (app: FastifyInstance, { database, clock, sessions, logger }: ConsoleDeps): void => {
  const environmentOf = async (request: FastifyRequest): Promise<string> => {
    const session = await findSession(request, sessions);
    requireAdministrator(session);
    return session.caller.environment.id;
  };
  const show = async (id: string): Promise<object> => showDrmConfiguration(await getDrmConfiguration(database, id));

  app.get('/drm-configurations', async (request) => {
    const environment = await environmentOf(request);
    const own = (await listDrmConfigurations(database)).filter(({ environmentId }) => environmentId === environment);
    return { data: await Promise.all(own.map(({ id }) => show(id))) };
  });

  app.post('/drm-configurations', async (request, reply) => {
    const environmentId = await environmentOf(request);
    const configuration = { ...readBody(request.body), environmentId };
    const id = await createDrmConfiguration(database, configuration, clock);
    logger.info({ drm_configuration_id: id }, 'drm configuration created');
    return reply.code(201).send({ data: await show(id) });
  });

  app.delete<{ Params: { id: string } }>('/drm-configurations/:id', async (request, reply) => {
    const environment = await environmentOf(request);
    const { id } = request.params;
    const { environmentId } = await getDrmConfiguration(database, id);
    if (environmentId !== environment) throw new KinoraError('not_found');
    await deleteDrmConfiguration(database, id);
    logger.info({ drm_configuration_id: id }, 'drm configuration deleted');
    return reply.code(204).send();
  });
};

const inBody = (field: DrmField): string => field.replaceAll('-', '_');

/** The fields of `kinora drm create`, with underscores; several headers are a list. */
const readBody = (body: unknown) => {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw invalidParameters('The request body must be a JSON object.');
  const values = body as Readonly<Record<string, unknown>>;
  const fields: Partial<Record<DrmField, string[]>> = {};
  for (const field of drmFields) {
    const texts = [values[inBody(field)] ?? []].flat();
    if (!texts.every((text) => typeof text === 'string' && !text.includes('\0')))
      throw invalidParameters(`${inBody(field)} must be a text.`);
    if (texts.length > 0) fields[field] = texts as string[];
  }
  return readDrmConfiguration({
    fields,
    certificate: readCertificate(values.fairplay_certificate_base64),
    nameOf: inBody,
    reject: invalidParameters,
  });
};

const readCertificate = (value: unknown): Buffer | undefined => {
  if (value === undefined || value === null) return undefined;
  const isText = typeof value === 'string' && value.length <= MAX_CERTIFICATE_LENGTH;
  const bytes = Buffer.from(isText ? value : '', 'base64');
  if (bytes.length > 0) return bytes;
  throw invalidParameters('fairplay_certificate_base64 must be the bytes of a certificate in base64.');
};
