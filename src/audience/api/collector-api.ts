import { Type } from 'typebox';
import type { ApiPart } from '../../api/openapi/api-part.js';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import { lastOf } from '../../lib/last-of.js';

/** @throws KinoraError `invalid_parameters` */
export const readAssetId = (query: Readonly<Record<string, unknown>>): string => {
  const value = lastOf(query.asset_id);
  if (value === undefined || value === '')
    throw new KinoraError('invalid_parameters', { messages: ['asset_id is required'] });
  if (!isId(value)) throw new KinoraError('invalid_parameters', { messages: ['asset_id is not the ID of an asset'] });
  return value;
};

export const collectorApi: ApiPart = {
  operations: {
    deleteVideoViews: { method: 'DELETE', path: '/data/v1/video-views', permission: 'video:write', success: 204 },
  },
  descriptions: {
    deleteVideoViews: {
      tag: 'Video views',
      summary: 'Delete the views of an asset',
      details:
        'Removes all that players reported of an asset, whether it exists or was deleted. The views are still counted in sums over all assets.',
      query: { asset_id: Type.String({ description: 'ID of the asset' }) },
    },
  },
  pathParameters: {},
  examples: {},
  examplesAfter: {},
};
