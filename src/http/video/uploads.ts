import { serializeUpload } from '../../api/responses/upload.js';
import { validateCreateUpload } from '../../api/validate/create-upload.js';
import { readListQuery } from '../../api/validate/list-query.js';
import type { Row } from '../../db/schema.js';
import type { DomainContext } from '../../domain/context.js';
import { cancelUpload } from '../../uploads/cancel-upload.js';
import { createUpload } from '../../uploads/create-upload.js';
import { getUpload, listUploads } from '../../uploads/get-upload.js';
import type { UploadSessions } from '../../uploads/upload-sessions.js';
import type { UploadUrls } from '../../uploads/upload-urls.js';
import type { Route } from '../plugins/operation-route.js';

export interface UploadDeps {
  readonly sessions: UploadSessions;
  readonly urls: UploadUrls;
}

export const uploadRoutes = (route: Route, context: DomainContext, { sessions, urls }: UploadDeps): void => {
  const show = (upload: Row<'upload'>) => serializeUpload(upload, urls.urlOf(upload));

  route('createUpload', async ({ caller, body, requestId }) => {
    const request = validateCreateUpload(body ?? {}, caller.environment.defaultVideoQuality);
    return { data: show(await createUpload(context, caller.environment.id, request, requestId)) };
  });

  route('listUploads', async ({ caller, query }) => {
    const { cursor: _notOfThisList, ...paging } = query;
    const uploads = await listUploads(context, caller.environment.id, readListQuery(paging));
    return { data: uploads.map(show) };
  });

  route('getUpload', async ({ caller, params }) => ({
    data: show(await getUpload(context, caller.environment.id, params.uploadId!)),
  }));

  route('cancelUpload', async ({ caller, params }) => ({
    data: show(await cancelUpload(context, sessions, caller.environment.id, params.uploadId!)),
  }));
};
