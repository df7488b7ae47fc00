import type { ApiPart } from '../../api/openapi/api-part.js';

export const metricsApi: ApiPart = {
  operations: {},
  descriptions: {},
  pathParameters: {},
  examples: {},
  examplesAfter: {},
};
