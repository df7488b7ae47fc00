import { joinApiParts } from '../../api/openapi/api-part.js';
import { annotationsApi } from './annotations-api.js';
import { collectorApi } from './collector-api.js';
import { engagementApi } from './engagement-api.js';
import { metricsApi } from './metrics-api.js';
import { monitoringApi } from './monitoring-api.js';
import { overviewApi } from './overview-api.js';
import { viewsApi } from './views-api.js';

export const audienceApi = joinApiParts(
  overviewApi,
  viewsApi,
  metricsApi,
  monitoringApi,
  engagementApi,
  annotationsApi,
  collectorApi,
);
