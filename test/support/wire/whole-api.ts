import { joinApiParts } from '#kinora/api/openapi/api-part.js';
import { coreApi } from '#kinora/api/openapi/core-api.js';
import { openApiDocument } from '#kinora/api/openapi/openapi-document.js';
import { audienceApi } from '#kinora/audience/api/audience-api.js';
import { robotsApi } from '#kinora/robots/api/robots-api.js';

/** The API of a server with all its rooms. */
export const wholeApi = joinApiParts(coreApi, robotsApi, audienceApi);

export const wholeDocument = openApiDocument(wholeApi);
