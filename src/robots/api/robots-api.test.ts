import { expect, test } from 'vitest';
import { requestSchemaOf } from '../../api/openapi/openapi-document.js';
import { findUnknownFields } from '../../api/unknown-fields.js';
import { robotsApi } from './robots-api.js';

test.each(Object.entries(robotsApi.descriptions).filter(([, { example }]) => example))(
  'the example of %s has known fields',
  (id, { example }) => {
    expect(findUnknownFields(requestSchemaOf(robotsApi, id)!, example)).toEqual([]);
  },
);
