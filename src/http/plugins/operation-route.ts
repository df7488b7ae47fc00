import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ApiPart } from '../../api/openapi/api-part.js';
import { requestSchemaOf } from '../../api/openapi/openapi-document.js';
import { type OperationId, pathWith } from '../../api/operations.js';
import { findUnknownFields, sentenceOf, warningOf } from '../../api/unknown-fields.js';
import type { Caller } from '../../domain/access/authenticate.js';
import { KinoraError } from '../../lib/errors.js';
import type { IdentifyCaller } from './find-session.js';
import type { LimitRate } from './rate-limit.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Its ID. */
    operation?: string;
    /** Its failures have the format of the Robots API. */
    isRobots?: boolean;
  }
}

/** A request that its caller is permitted to make. */
export interface ApiRequest {
  readonly caller: Caller;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  /** Parsed JSON; undefined when the request has no body. */
  readonly body: unknown;
  /** As in the header `X-Request-Id` of the response. */
  readonly requestId: string;
}

/** A body that is JSON already. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Returns the body of the response; nothing for 204. */
type OperationHandler = (request: ApiRequest) => Promise<object | undefined>;

export type Route<Id extends string = OperationId> = (id: Id, handler: OperationHandler) => void;

/** Operations that another room adds. An interface, because the app does not import that room. */
export interface ApiExtension {
  readonly api: ApiPart;
  addRoutes(route: Route<string>): void;
}

interface OperationChecks {
  readonly identifyCaller: IdentifyCaller;
  readonly limitRate: LimitRate;
  readonly strictFields: boolean;
}

/**
 * Connects operations of the table to their handlers: credentials, rate and permission are checked
 * before the body is read.
 */
export const operationRoutes =
  (app: FastifyInstance, api: ApiPart, { identifyCaller, limitRate, strictFields }: OperationChecks): Route<string> =>
  (id, handler) => {
    const operation = api.operations[id]!;
    const schema = requestSchemaOf(api, id);
    /** @throws KinoraError `invalid_parameters` when unknown fields are rejected */
    const checkFields = (request: FastifyRequest, reply: FastifyReply): void => {
      const fields = schema ? findUnknownFields(schema, request.body) : [];
      if (fields.length === 0) return;
      if (strictFields) throw new KinoraError('invalid_parameters', { messages: fields.map(sentenceOf) });
      const warning = warningOf(fields);
      request.log.warn({ operation: id, warning }, 'request with unknown fields');
      void reply.header('Kinora-Warning', warning);
    };
    const { permission, otherPermission = permission } = operation;
    const callers = new WeakMap<FastifyRequest, Caller>();
    app.route({
      method: operation.method,
      url: pathWith(operation, (name, values) => (values ? `:${name}(^(?:${values.join('|')})$)` : `:${name}`)),
      config: { operation: id, isRobots: operation.isRobots },
      onRequest: async (request) => {
        const caller = await identifyCaller(request);
        request.tokenId = caller.tokenId;
        limitRate(caller.environment.id, request.method);
        const has = (name: string | undefined) => name === undefined || caller.permissions.includes(name);
        if (!has(permission) && !has(otherPermission)) throw new KinoraError('forbidden');
        callers.set(request, caller);
      },
      handler: async (request, reply) => {
        checkFields(request, reply);
        const body = await handler({
          caller: callers.get(request)!,
          params: request.params as Record<string, string>,
          query: request.query as Record<string, unknown>,
          body: request.body,
          requestId: request.id,
        });
        reply.code(operation.success);
        return body instanceof JsonText
          ? reply.type('application/json; charset=utf-8').send(body.text)
          : reply.send(body);
      },
    });
  };
