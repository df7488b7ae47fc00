import { type TSchema, Type } from 'typebox';

/**
 * Parts of API answers. A schema with a title appears once in the document, under that name, and is
 * referred to elsewhere.
 */

export const id = (description: string) => Type.String({ description });

/** Unix seconds: `1767225600` */
export const unixSeconds = (description: string) =>
  Type.String({ pattern: '^\\d+$', description: `${description}, in Unix seconds, as a string` });

/** With six digits after the second. */
export const isoTime = (description: string) =>
  Type.String({ format: 'date-time', description: `${description}, as an ISO 8601 time in UTC with microseconds` });

export const one = (resource: TSchema) => Type.Object({ data: resource });

const items = (resource: TSchema) =>
  Type.Array(resource, { description: 'The resources on this page. Empty when the page is past the end of the list' });

export const list = (resource: TSchema) => Type.Object({ data: items(resource) });
export const listWithCursor = (resource: TSchema) =>
  Type.Object({
    data: items(resource),
    next_cursor: Type.Union([Type.String(), Type.Null()], {
      description: 'Send this value as `cursor` to get the next page. `null` on the last page',
    }),
  });
export const totalRowCount = () => Type.Integer({ description: 'Number of resources on all pages together' });
export const listWithTotal = (resource: TSchema) =>
  Type.Object({
    data: items(resource),
    total_row_count: totalRowCount(),
    page: Type.Integer({ description: 'The number of this page, starting at 1' }),
    limit: Type.Integer({ description: 'The largest number of resources that a page holds' }),
  });

export const listWithTimeframe = (resource: TSchema) =>
  Type.Object({
    ...listWithTotal(resource).properties,
    timeframe: Type.Array(Type.Integer(), {
      minItems: 2,
      maxItems: 2,
      description: 'Start and end of the period that the figures cover, in Unix seconds',
    }),
  });

export const seconds = (description: string) => Type.Number({ description: `${description}, in seconds` });
export const pixels = (description: string) => Type.Integer({ description: `${description}, in pixels` });

export const resolutionTier = (description: string) =>
  Type.Enum(['audio-only', '720p', '1080p', '1440p', '2160p'], { description });

export const failure = (description: string) =>
  Type.Object(
    {
      type: Type.String({ description: '`invalid_input` if the file is the cause, `internal_error` if the server is' }),
      messages: Type.Array(Type.String(), { description: 'What went wrong, one sentence per problem' }),
    },
    { description },
  );
