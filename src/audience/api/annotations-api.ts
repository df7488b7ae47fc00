import { type Static, Type } from 'typebox';
import type { ApiPart } from '../../api/openapi/api-part.js';
import { paging, timeframe } from '../../api/openapi/description.js';
import { id, listWithTimeframe, one } from '../../api/schemas/response.js';
import { requireJsonObject, validate } from '../../api/validate/validate.js';
import type { Row } from '../../db/schema.js';
import { Problems } from '../../lib/problems.js';
import { MAX_SECONDS } from '../requests/timeframe.js';
import { isoSeconds, isoTime, orNull } from './common.js';

const { Optional, Object: Fields, Integer, String: Text } = Type;

const SUB_PROPERTY = 'Name of the part of the environment that the annotation is about';

const AnnotationBody = Fields({
  date: Integer({ minimum: 0, maximum: MAX_SECONDS, description: 'The time that it is about, in Unix seconds' }),
  note: Text({ minLength: 1, maxLength: 5000, description: 'What happened at that time' }),
  sub_property_id: Optional(Text({ maxLength: 255, description: SUB_PROPERTY })),
});

const AnnotationResponse = Fields(
  {
    id: id('Unique ID of the annotation, a UUID'),
    date: isoTime('The time that it is about'),
    note: Text({ description: 'What happened at that time' }),
    sub_property_id: orNull(Text(), `${SUB_PROPERTY}; \`null\` if it is about all of it`),
  },
  { title: 'Annotation', description: 'A note about a time, which explains what views show of it' },
);

/** @throws KinoraError `invalid_parameters` */
export const validateAnnotation = (body: unknown): Static<typeof AnnotationBody> => {
  const problems = new Problems();
  const request = validate(AnnotationBody, requireJsonObject(body), [], problems);
  problems.throwIfAny(body);
  return request;
};

export const serializeAnnotation = ({ id, date, note, sub_property_id }: Row<'annotation'>): object => ({
  id,
  date: isoSeconds(date),
  note,
  sub_property_id,
});

const annotations = { tag: 'Annotations' } as const;
const example = { date: 1_767_225_600, note: 'New player on the website' };
const COLLECTION = '/data/v1/annotations';
const RESOURCE = `${COLLECTION}/:annotationId`;

export const annotationsApi: ApiPart = {
  operations: {
    listAnnotations: { method: 'GET', path: COLLECTION, permission: 'data:read', success: 200 },
    createAnnotation: { method: 'POST', path: COLLECTION, permission: 'video:write', success: 201 },
    getAnnotation: { method: 'GET', path: RESOURCE, permission: 'data:read', success: 200 },
    updateAnnotation: { method: 'PATCH', path: RESOURCE, permission: 'video:write', success: 200 },
    deleteAnnotation: { method: 'DELETE', path: RESOURCE, permission: 'video:write', success: 204 },
  },
  descriptions: {
    listAnnotations: {
      ...annotations,
      summary: 'List annotations',
      details: 'Those of the time frame, newest first.',
      query: {
        ...paging(),
        order_direction: Text({ description: 'Order of their dates: `asc` or `desc`, the default' }),
        ...timeframe('Two Unix timestamps, or a duration such as `7:days`. The last 24 hours when absent'),
      },
      response: listWithTimeframe(AnnotationResponse),
    },
    createAnnotation: {
      ...annotations,
      summary: 'Create an annotation',
      details: 'Adds a note about a time.',
      body: AnnotationBody,
      example,
      response: one(AnnotationResponse),
    },
    getAnnotation: {
      ...annotations,
      summary: 'Retrieve an annotation',
      details: 'Returns the annotation with this ID.',
      response: one(AnnotationResponse),
    },
    updateAnnotation: {
      ...annotations,
      summary: 'Update an annotation',
      details: 'Replaces its date and its note. Without `sub_property_id`, that stays.',
      body: AnnotationBody,
      example: { ...example, note: 'New player on the website and in the app' },
      response: one(AnnotationResponse),
    },
    deleteAnnotation: {
      ...annotations,
      summary: 'Delete an annotation',
      details: 'Deletes the annotation with this ID.',
    },
  },
  pathParameters: { annotationId: 'ID of the annotation, a UUID' },
  examples: {
    Annotation: {
      id: '2c1b6f0e-5a7d-4e38-9b61-0f4e8a7d3c52',
      date: '2026-01-01T00:00:00Z',
      note: 'New player on the website',
      sub_property_id: null,
    },
  },
  examplesAfter: {},
};
