import type { ApiPart } from '../../api/openapi/api-part.js';

export const viewsApi: ApiPart = {
  operations: {},
  descriptions: {},
  pathParameters: {},
  examples: {},
  examplesAfter: {},
};
