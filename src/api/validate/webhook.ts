import type { NewWebhook, WebhookUpdate } from '../../domain/webhooks/webhooks.js';
import { KinoraError } from '../../lib/errors.js';
import { Problems } from '../../lib/problems.js';
import { CreateWebhookBody, UpdateWebhookBody } from '../schemas/webhook.js';
import { requireJsonObject, validate } from './validate.js';

/** @throws KinoraError `invalid_parameters` */
export const validateCreateWebhook = (body: unknown): NewWebhook => {
  const problems = new Problems();
  const request = validate(CreateWebhookBody, requireJsonObject(body), [], problems);
  problems.throwIfAny(body);
  return request;
};

/** @throws KinoraError `invalid_parameters` */
export const validateUpdateWebhook = (body: unknown): WebhookUpdate => {
  const problems = new Problems();
  const request = validate(UpdateWebhookBody, requireJsonObject(body), [], problems);
  problems.throwIfAny(body);
  if (request.address !== undefined || request.enabled !== undefined) return request;
  throw new KinoraError('invalid_parameters', { messages: ['At least one of address or enabled must be provided'] });
};
