import type { Row } from '../db/schema.js';
import { findUpload, listUploads as listUploadRows } from '../db/tables/assets/upload.js';
import type { DomainContext } from '../domain/context.js';
import { KinoraError } from '../lib/errors.js';
import { isId } from '../lib/ids.js';

/**
 * @throws KinoraError `not_found` for unknown and malformed IDs and for those of other environments
 */
export const getUpload = async (
  context: DomainContext,
  environmentId: string,
  uploadId: string,
): Promise<Row<'upload'>> => {
  const upload = isId(uploadId) ? await findUpload(context.database.queryable, environmentId, uploadId) : undefined;
  if (!upload) throw new KinoraError('not_found');
  return upload;
};

/** Newest first, with any status. */
export const listUploads = (
  context: DomainContext,
  environmentId: string,
  page: { readonly limit: number; readonly offset: number },
): Promise<Row<'upload'>[]> => listUploadRows(context.database.queryable, environmentId, page);
