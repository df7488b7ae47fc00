import { one } from '../schemas/answer.js';
import { AssetAnswer, StaticRenditionAnswer } from '../schemas/asset-answer.js';
import { Mp4SupportBody, NewStaticRendition } from '../schemas/static-rendition.js';
import type { Description } from './description.js';

const renditions = { tag: 'Renditions' } as const;

export const renditionOperations = {
  createStaticRendition: {
    ...renditions,
    summary: 'Create a static rendition',
    details:
      'Made when the asset is ready. It is `skipped` when the video would have to be enlarged, or when the asset lacks the video or the audio.',
    body: NewStaticRendition,
    example: { resolution: '720p', passthrough: 'for-download' },
    answer: one(StaticRenditionAnswer),
  },
  deleteStaticRendition: { ...renditions, summary: 'Delete a static rendition', details: 'Its address ends at once.' },
  updateMp4Support: {
    ...renditions,
    summary: 'Update MP4 support',
    details: 'Deprecated: static renditions do more. Files that the old and the new value have in common are kept.',
    body: Mp4SupportBody,
    example: { mp4_support: 'capped-1080p' },
    answer: one(AssetAnswer),
  },
} as const satisfies Record<string, Description>;
