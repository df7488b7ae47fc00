/** What the workers of workflows know of requests. */
export type { WorkflowName, WorkflowParams } from '../../api/schemas/workflows.js';
