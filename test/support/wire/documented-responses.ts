import type { FastifyInstance } from 'fastify';
import { Compile } from 'typebox/compile';
import { wholeDocument } from './whole-api.js';

type Schema = Record<string, unknown>;
interface Checkable {
  Check(value: unknown): boolean;
  Errors(value: unknown): { instancePath: string; message: string; params: object }[];
}

const document = wholeDocument;
const { schemas, responses } = document.components as Record<string, Record<string, Schema>>;

/**
 * With references written out, and objects closed: an answer may hold nothing that the document
 * does not name.
 */
const strict = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(strict);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { $ref: reference } = schema as { $ref?: string };
  if (reference !== undefined) return strict(schemas![reference.split('/').at(-1)!]);
  const entries = Object.entries(schema).map(([word, value]) => [
    word,
    word === 'properties'
      ? Object.fromEntries(Object.entries(value as Schema).map(([name, property]) => [name, strict(property)]))
      : strict(value),
  ]);
  return { ...Object.fromEntries(entries), ...('properties' in schema && { additionalProperties: false }) };
};

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
);
const compiled = new Map<string, Checkable | undefined>();

const checkerOf = (id: string, status: number): Checkable | undefined => {
  const key = `${id} ${status}`;
  if (!compiled.has(key)) {
    const { operation } = operations.find((one) => one.operation.operationId === id)!;
    const told = operation.responses[status];
    const reference = told?.$ref as string | undefined;
    const response = reference === undefined ? told : responses![reference.split('/').at(-1)!];
    const content = response?.content as { 'application/json': { schema: Schema } } | undefined;
    if (!response) throw new Error(`${id} answers ${status}, which the OpenAPI document does not name`);
    compiled.set(
      key,
      content && (Compile(strict(content['application/json'].schema) as never) as unknown as Checkable),
    );
  }
  return compiled.get(key);
};

/** What is wrong with an answer according to the OpenAPI document; undefined when nothing is. */
export const undocumentedResponse = (operationId: string, status: number, payload: string): string | undefined => {
  const checker = checkerOf(operationId, status);
  if (!checker) return payload === '' ? undefined : `${operationId} answers ${status} with a body`;
  const body: unknown = JSON.parse(payload);
  if (checker.Check(body)) return undefined;
  const problems = checker
    .Errors(body)
    .map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`);
  return `${operationId} ${status}: ${problems.join('; ')}: ${payload.slice(0, 1000)}`;
};

/**
 * Every answer of the app's operations is compared with the document; returns what was found so
 * far.
 */
export const watchResponses = (app: FastifyInstance): readonly string[] => {
  const found: string[] = [];
  app.addHook('onSend', async (request, reply, payload) => {
    const { operation } = request.routeOptions.config;
    if (operation === undefined || request.method === 'HEAD') return;
    try {
      const wrong = undocumentedResponse(operation, reply.statusCode, typeof payload === 'string' ? payload : '');
      if (wrong !== undefined) found.push(wrong);
    } catch (error) {
      found.push(String(error));
    }
  });
  return found;
};
