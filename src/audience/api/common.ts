import { type TSchema, Type } from 'typebox';
import { listWithTimeframe } from '../../api/schemas/response.js';

/** `2026-01-01T00:00:00Z` */
export const isoSeconds = (time: Date | number): string => `${new Date(time).toISOString().slice(0, 19)}Z`;

export const isoTime = (description: string) =>
  Type.String({ format: 'date-time', description: `${description}, as an ISO 8601 time in UTC` });

export const orNull = (schema: TSchema, description: string) => Type.Union([schema, Type.Null()], { description });

/** A response that is not in pages. */
export const withTimeframe = (data: TSchema, more: Record<string, TSchema> = {}) =>
  Type.Object({
    data,
    ...more,
    timeframe: listWithTimeframe(data).properties.timeframe,
    total_row_count: orNull(Type.Integer(), 'Number of entries in `data`. `null` if it is not a list'),
  });
