import { Type } from 'typebox';
import { mp4Supports } from '../../domain/requests/asset-request.js';
import { renditionResolution } from './asset.js';
import { passthrough } from './common.js';

/** Body of POST …/static-renditions. */
export const NewStaticRendition = Type.Object({
  resolution: renditionResolution(),
  passthrough: Type.Optional(passthrough(' with the rendition')),
});

/** Body of PUT …/mp4-support. */
export const Mp4SupportBody = Type.Object({
  mp4_support: Type.Enum(mp4Supports, {
    description:
      'The set of files that the asset should have. `none` deletes all files of `mp4_support`. Cannot be enabled while the asset has static renditions',
  }),
});
