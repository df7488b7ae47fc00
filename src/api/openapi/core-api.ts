import { type OperationId, operations } from '../operations.js';
import type { ApiPart } from './api-part.js';
import { assetOperations } from './asset-operations.js';
import { type Description, pathParameters } from './description.js';
import { liveOperations } from './live-operations.js';
import { playbackOperations } from './playback-operations.js';
import { renditionOperations } from './rendition-operations.js';
import { examples, examplesAfter } from './response-examples.js';
import { systemOperations } from './system-operations.js';
import { trackOperations } from './track-operations.js';
import { uploadOperations } from './upload-operations.js';

const descriptions: Readonly<Record<OperationId, Description>> = {
  ...assetOperations,
  ...trackOperations,
  ...renditionOperations,
  ...uploadOperations,
  ...liveOperations,
  ...playbackOperations,
  ...systemOperations,
};

/** The API of every server. */
export const coreApi: ApiPart = { operations, descriptions, pathParameters, examples, examplesAfter };
