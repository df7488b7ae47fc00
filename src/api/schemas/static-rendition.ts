import { type Static, Type } from 'typebox';
import { mp4Supports, resolutions } from './asset.js';
import { passthrough } from './common.js';

/** Body of POST …/static-renditions. */
export const NewStaticRendition = Type.Object({
  resolution: Type.Enum(resolutions),
  passthrough: Type.Optional(passthrough()),
});
export type NewStaticRendition = Static<typeof NewStaticRendition>;

/** Body of PUT …/mp4-support. */
export const Mp4SupportBody = Type.Object({ mp4_support: Type.Enum(mp4Supports) });
export type Mp4Support = Static<typeof Mp4SupportBody>['mp4_support'];
