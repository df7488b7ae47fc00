import type { ApiPart } from '../../api/openapi/api-part.js';
import { robotsDescriptions, robotsPathParameters } from './descriptions.js';
import { robotsExamples, robotsExamplesAfter } from './examples.js';
import { robotsOperations } from './operations.js';

export const robotsApi: ApiPart = {
  operations: robotsOperations,
  descriptions: robotsDescriptions,
  pathParameters: robotsPathParameters,
  examples: robotsExamples,
  examplesAfter: robotsExamplesAfter,
};
