import type { TSchema } from 'typebox';
import { type ErrorCode, errorRegistry } from '../../lib/errors.js';
import type { Operation } from '../operations.js';
import { EventResponse } from '../responses/event.js';
import type { ApiPart } from './api-part.js';
import { type CodeSample, codeSamples } from './code-samples.js';
import { type Description, tags } from './description.js';
import { responseExample } from './response-examples.js';

/** The schema of an operation's request bodies; undefined when it reads none. */
export const requestSchemaOf = ({ descriptions }: ApiPart, id: string): TSchema | undefined => {
  const { body } = descriptions[id]!;
  return body === 'none' ? undefined : body;
};

type Json = Record<string, unknown>;

export interface DocumentedOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly deprecated?: boolean;
  readonly parameters?: readonly {
    name: string;
    in: 'path' | 'query';
    required?: boolean;
    description: string;
    schema: Json;
  }[];
  readonly requestBody?: { content: { 'application/json': { schema: Json; example?: object } } };
  readonly responses: Readonly<Record<string, Json>>;
  readonly 'x-codeSamples': readonly CodeSample[];
}

export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>>; readonly [part: string]: Json };
  readonly [part: string]: unknown;
}

/**
 * Lists what is missing from the document, one sentence each; empty when the document is complete.
 */
export const undocumented = ({
  operations: table,
  descriptions: described,
}: Pick<ApiPart, 'operations' | 'descriptions'>): string[] => {
  const where = 'in src/api/openapi';
  const gone = Object.keys(described).filter((id) => !table[id]);
  return [
    ...gone.map((id) => `${id} is described ${where} but is no operation of src/api/operations.ts`),
    ...Object.entries(table).flatMap(([id, { method, path, success }]) => {
      const description = described[id];
      const name = `${id} (${method} ${path})`;
      if (!description) return [`${name} is not described ${where}: it needs a summary and its schemas`];
      const readsBody = method !== 'GET' && method !== 'DELETE';
      return [
        ...(readsBody && !description.body
          ? [`${name} lacks \`body\` ${where}: the schema that validates it, or 'none'`]
          : []),
        ...(!readsBody && description.body ? [`${name} has a \`body\` ${where}, which ${method} does not read`] : []),
        ...(success !== 204 && !description.response
          ? [`${name} lacks \`answer\` ${where}: the schema of its answer`]
          : []),
        ...(success === 204 && description.response ? [`${name} has an \`answer\` ${where}, but 204 has no body`] : []),
      ];
    }),
  ];
};

/**
 * Lists the failures that an operation may return. The body of any request except GET is read, even
 * if it is not used.
 */
const failuresOf = ({ method, path, permission }: Operation, { query, canConflict }: Description): ErrorCode[] => [
  ...(query || method !== 'GET' ? (['invalid_parameters'] as const) : []),
  'unauthorized',
  ...(permission ? (['forbidden'] as const) : []),
  ...(path.includes(':') ? (['not_found'] as const) : []),
  ...(canConflict ? (['conflict'] as const) : []),
  ...(method !== 'GET' ? (['payload_too_large', 'unsupported_media_type'] as const) : []),
  'too_many_requests',
  'internal_error',
  'unavailable',
];

const failureResponse = (code: ErrorCode): Json => {
  const { type, message } = errorRegistry[code];
  const isLimit = code === 'too_many_requests';
  return {
    description: message,
    ...((isLimit || code === 'unavailable') && {
      headers: {
        'Retry-After': { description: 'Seconds to wait before the next request', schema: { type: 'integer' } },
      },
    }),
    content: {
      'application/json': {
        schema: { $ref: `#/components/schemas/${isLimit ? 'TooManyRequests' : 'Error'}` },
        example: isLimit ? { errors: [message] } : { error: { type, messages: [message] } },
      },
    },
  };
};

/** Failures of the Robots API. An unknown workflow name is answered like any other unknown path. */
const robotsFailureResponse = (code: ErrorCode): Json => {
  const { type, message } = errorRegistry[code];
  const own = { $ref: '#/components/schemas/RobotsError' };
  return {
    description: message,
    content: {
      'application/json': {
        schema: code === 'not_found' ? { type: 'object', anyOf: [own, { $ref: '#/components/schemas/Error' }] } : own,
        example: { error: { type, message } },
      },
    },
  };
};

/** Failures with the same response in every API. */
const COMMON_FAILURES: readonly ErrorCode[] = ['unauthorized', 'too_many_requests'];
const ROBOTS = 'robots_';

const responseName = ({ isRobots }: Operation, code: ErrorCode): string =>
  isRobots && !COMMON_FAILURES.includes(code) ? `${ROBOTS}${code}` : code;

const describeFailure = (name: string): Json =>
  name.startsWith(ROBOTS)
    ? robotsFailureResponse(name.slice(ROBOTS.length) as ErrorCode)
    : failureResponse(name as ErrorCode);

const errorType = { type: 'string', description: 'Kind of error, for programs: `invalid_parameters`, `not_found`, …' };
const errorSchemas = {
  Error: {
    type: 'object',
    description: 'Why a request failed',
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        description: 'The kind of error and its messages',
        required: ['type', 'messages'],
        properties: {
          type: errorType,
          messages: {
            type: 'array',
            items: { type: 'string' },
            description: 'What to change, one sentence per problem, in the order of the request',
          },
        },
      },
    },
  },
  RobotsError: {
    type: 'object',
    description: 'Why a request to the Robots API failed',
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        description: 'The kind of error and its message',
        required: ['type', 'message'],
        properties: {
          type: errorType,
          message: { type: 'string', description: 'What to change, in a sentence about the first problem' },
        },
      },
    },
  },
  TooManyRequests: {
    type: 'object',
    description: 'The rate limit of the environment is exceeded',
    required: ['errors'],
    properties: {
      errors: { type: 'array', items: { type: 'string' }, description: 'A sentence that asks to retry later' },
    },
  },
} as const;

const INTRODUCTION = `Kinora takes a video, as a URL or an uploaded file, and returns URLs that play it.

Authenticate with an access token over HTTP Basic: its ID is the user name, its secret the password. Bodies are
JSON in UTF-8. Unknown fields are ignored, and \`null\` counts as absent. Fields without a value are omitted from responses.`;

/**
 * Builds the OpenAPI 3.1 document from the table of operations and the schemas that validate
 * requests. Schemas with a title appear once, under `components`.
 */
export const openApiDocument = (api: ApiPart): OpenApiDocument => {
  const { operations, descriptions } = api;
  const { RobotsError, ...commonErrors } = errorSchemas;
  const hasRobots = Object.values(operations).some(({ isRobots }) => isRobots);
  const components = new Components(hasRobots ? errorSchemas : commonErrors);
  const paths: Record<string, Record<string, DocumentedOperation>> = {};
  for (const [id, { method, path }] of Object.entries(operations)) {
    const template = path.replaceAll(/:(\w+)/g, '{$1}');
    paths[template] = { ...paths[template], [method.toLowerCase()]: documentOperation(api, id, components) };
  }
  const usedTags = new Set<string>(Object.values(descriptions).map(({ tag }) => tag));
  return {
    openapi: '3.1.0',
    info: { title: 'Kinora', version: '1', description: INTRODUCTION },
    servers: [{ url: '/' }],
    security: [{ basic: [] }],
    tags: Object.entries(tags)
      .filter(([name]) => usedTags.has(name))
      .map(([name, description]) => ({ name, description })),
    paths,
    webhooks: { event: { post: eventRequest(components.write(EventResponse) as Json) } },
    components: {
      securitySchemes: { basic: { type: 'http', scheme: 'basic', description: 'ID and secret of an access token' } },
      schemas: components.schemas,
      responses: Object.fromEntries([...components.responses].map((name) => [name, describeFailure(name)])),
    },
  };
};

/** What operations refer to, collected while they are written. */
class Components {
  readonly schemas: Record<string, Json>;
  /** Names of failures. */
  readonly responses = new Set<string>();

  constructor(schemas: Readonly<Record<string, Json>>) {
    this.schemas = { ...schemas };
  }

  /** Writes a schema, with references in place of schemas that have a title. */
  write(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((each) => this.write(each));
    if (typeof schema !== 'object' || schema === null) return schema;
    const { title, ...words } = schema as Json;
    if (typeof title !== 'string') return this.writeWords(words);
    this.schemas[title] ??= { title, ...this.writeWords(words) };
    return { $ref: `#/components/schemas/${title}` };
  }

  private writeWords(words: Json): Json {
    return {
      // An enumeration of strings has no type of its own.
      ...(Array.isArray(words.enum) && words.type === undefined && { type: 'string' }),
      ...Object.fromEntries(
        Object.entries(words)
          .filter(([word]) => !word.startsWith('x-'))
          .map(([word, value]) => [
            word,
            word === 'properties' ? this.writeProperties(value as Json) : this.write(value),
          ]),
      ),
    };
  }

  private writeProperties(properties: Json): Json {
    return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, this.write(schema)]));
  }
}

const documentOperation = (api: ApiPart, id: string, components: Components): DocumentedOperation => {
  const operation = api.operations[id]!;
  const { tag, summary, details, query = {}, body, example, response, deprecated } = api.descriptions[id]!;
  const failures = failuresOf(operation, api.descriptions[id]!);
  for (const code of failures) components.responses.add(responseName(operation, code));
  const parameters = [
    ...[...operation.path.matchAll(/:(\w+)/g)].map(([, name]) => ({
      name: name!,
      in: 'path' as const,
      required: true,
      description: api.pathParameters[name!]!,
      schema: { type: 'string', ...(operation.paramValues?.[name!] && { enum: operation.paramValues[name!] }) },
    })),
    ...Object.entries(query).map(([name, schema]) => queryParameter(name, components.write(schema) as Json)),
  ];
  const allowed = [operation.permission, operation.otherPermission].filter((name) => name !== undefined);
  const permission = allowed.length > 0 && `Permission: ${allowed.map((name) => `\`${name}\``).join(' or ')}.`;
  const description = [details, permission].filter(Boolean).join('\n\n');
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    ...(deprecated && { deprecated }),
    ...(parameters.length > 0 && { parameters }),
    ...(body &&
      body !== 'none' && {
        requestBody: {
          content: { 'application/json': { schema: components.write(body) as Json, ...(example && { example }) } },
        },
      }),
    responses: {
      [operation.success]: response
        ? {
            description: 'Success',
            content: {
              'application/json': {
                schema: components.write(response as TSchema),
                example: responseExample(api, id, response),
              },
            },
          }
        : { description: 'Success, without a body' },
      ...Object.fromEntries(
        failures.map((code) => [
          errorRegistry[code].status,
          { $ref: `#/components/responses/${responseName(operation, code)}` },
        ]),
      ),
    },
    'x-codeSamples': codeSamples(id, operation, example),
  };
};

/** The request that webhooks receive. */
const eventRequest = (event: Json): Json => ({
  operationId: 'receiveEvent',
  tags: ['Webhooks and events'],
  summary: 'Receive an event',
  description:
    'Sent to every enabled webhook. Answer with any 2xx status within 5 seconds; otherwise the event is sent again, up to 16 times in 24 hours. Events may arrive twice or in another order.',
  parameters: [
    {
      name: 'mux-signature',
      in: 'header',
      required: true,
      description:
        '`t=<Unix seconds>,v1=<signature>`: the HMAC-SHA256 of `<t>.<body>` with the `signing_secret` of the webhook as its key, in lower-case hexadecimal digits. Refuse requests whose signature does not match',
      schema: { type: 'string' },
    },
  ],
  requestBody: {
    description: 'The event. Every attempt has the same body',
    required: true,
    content: { 'application/json': { schema: event } },
  },
  responses: { '2XX': { description: 'The event is delivered' } },
});

/** Lists are written `name[]=a&name[]=b`. */
const queryParameter = (name: string, { description, ...schema }: Json) => ({
  name: schema.type === 'array' ? `${name}[]` : name,
  in: 'query' as const,
  description: String(description),
  schema,
});
