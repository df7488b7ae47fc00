import { type TSchema, Type } from 'typebox';

/**
 * Parts of API answers. A schema with a title appears once in the document, under that name, and is referred to elsewhere.
 */

export const id = (description?: string) => Type.String({ ...(description && { description }) });

/** Unix seconds: `1767225600` */
export const unixSeconds = () => Type.String({ pattern: '^\\d+$', description: 'Unix seconds, as a string' });

/** With six digits after the second. */
export const isoTime = () => Type.String({ format: 'date-time', description: 'ISO 8601 in UTC' });

export const one = (resource: TSchema) => Type.Object({ data: resource });
export const list = (resource: TSchema) => Type.Object({ data: Type.Array(resource) });
export const listWithCursor = (resource: TSchema) =>
  Type.Object({
    data: Type.Array(resource),
    next_cursor: Type.Union([Type.String(), Type.Null()], {
      description: 'Cursor of the next page; null on the last page',
    }),
  });
export const listWithTotal = (resource: TSchema) =>
  Type.Object({
    data: Type.Array(resource),
    total_row_count: Type.Integer(),
    page: Type.Integer(),
    limit: Type.Integer(),
  });

export const listWithTimeframe = (resource: TSchema) =>
  Type.Object({
    ...listWithTotal(resource).properties,
    timeframe: Type.Array(Type.Integer(), { minItems: 2, maxItems: 2, description: 'Unix seconds' }),
  });
