import type { Operation } from '../../api/operations.js';
import { workflowNames } from './workflows.js';

const read = { permission: 'robots:read', otherPermission: 'video:read', isRobots: true } as const;
const write = { permission: 'robots:write', otherPermission: 'video:write', isRobots: true } as const;

const ofWorkflow = { paramValues: { workflow: workflowNames } } as const;

export const robotsOperations = {
  createDirective: { method: 'POST', path: '/robots/v0/directives', ...write, success: 201 },
  listDirectives: { method: 'GET', path: '/robots/v0/directives', ...read, success: 200 },
  getDirective: { method: 'GET', path: '/robots/v0/directives/:directiveId', ...read, success: 200 },
  deleteDirective: { method: 'DELETE', path: '/robots/v0/directives/:directiveId', ...write, success: 204 },
  createDirectiveRun: {
    method: 'POST',
    path: '/robots/v0/directives/:directiveId/runs',
    ...write,
    success: 201,
  },
  listDirectiveRuns: {
    method: 'GET',
    path: '/robots/v0/directives/:directiveId/runs',
    ...read,
    success: 200,
  },
  getDirectiveRun: {
    method: 'GET',
    path: '/robots/v0/directives/:directiveId/runs/:runId',
    ...read,
    success: 200,
  },
  createRobotsJob: { method: 'POST', path: '/robots/v0/jobs/:workflow', ...ofWorkflow, ...write, success: 201 },
  listRobotsJobs: { method: 'GET', path: '/robots/v0/jobs', ...read, success: 200 },
  getRobotsJob: { method: 'GET', path: '/robots/v0/jobs/:workflow/:jobId', ...ofWorkflow, ...read, success: 200 },
  cancelRobotsJob: { method: 'POST', path: '/robots/v0/jobs/:jobId/cancel', ...write, success: 200 },
} as const satisfies Record<string, Operation>;

export type RobotsOperationId = keyof typeof robotsOperations;
