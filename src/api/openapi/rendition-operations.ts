import { AssetResponse } from '../responses/asset.js';
import { StaticRenditionResponse } from '../responses/static-rendition.js';
import { one } from '../schemas/response.js';
import { Mp4SupportBody, NewStaticRendition } from '../schemas/static-rendition.js';
import type { Description } from './description.js';

const renditions = { tag: 'Renditions' } as const;

export const renditionOperations = {
  createStaticRendition: {
    ...renditions,
    summary: 'Create a static rendition',
    details:
      'Created after the asset is ready. It is `skipped` if the video would have to be enlarged, or if the asset has no video or no audio.',
    body: NewStaticRendition,
    example: { resolution: '720p', passthrough: 'for-download' },
    response: one(StaticRenditionResponse),
  },
  deleteStaticRendition: {
    ...renditions,
    summary: 'Delete a static rendition',
    details: 'Its URL stops working immediately.',
  },
  updateMp4Support: {
    ...renditions,
    summary: 'Update MP4 support',
    details: 'Deprecated: use static renditions. Files that both the old and the new value include are kept.',
    body: Mp4SupportBody,
    example: { mp4_support: 'capped-1080p' },
    response: one(AssetResponse),
  },
} as const satisfies Record<string, Description>;
