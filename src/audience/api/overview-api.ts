import type { ApiPart } from '../../api/openapi/api-part.js';

export const overviewApi: ApiPart = {
  operations: {},
  descriptions: {},
  pathParameters: {},
  examples: {},
  examplesAfter: {},
};
