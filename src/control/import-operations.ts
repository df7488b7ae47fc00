import type { DomainContext } from '../domain/context.js';
import { importPlaybackRestriction, importSigningKey } from '../domain/import/import-access.js';
import { importAsset } from '../domain/import/import-asset.js';
import {
  findImportStatus,
  findImportTarget,
  listBorrowedAssets,
  saveImportProgress,
} from '../domain/import/import-state.js';

/**
 * What `kinora import` asks of the running server. Each can be repeated, because a command whose
 * server ends doesn't know whether it was done. Parameters and results survive JSON.
 */
export const importOperations = {
  'import target': findImportTarget,
  'import status': findImportStatus,
  'import save': saveImportProgress,
  'import borrowed': listBorrowedAssets,
  'import asset': importAsset,
  'import restriction': importPlaybackRestriction,
  'import signing-key': importSigningKey,
} as const satisfies Readonly<Record<string, (context: DomainContext, params: never) => Promise<unknown>>>;

type Operations = typeof importOperations;
export type ImportOperation = keyof Operations;
export type ImportParams<O extends ImportOperation> = Parameters<Operations[O]>[1];
export type ImportResult<O extends ImportOperation> = Awaited<ReturnType<Operations[O]>>;
