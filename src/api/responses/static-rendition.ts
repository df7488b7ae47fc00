import { Type } from 'typebox';
import type { AssetView, RenditionRecord } from '../../domain/asset-view/asset-view.js';
import { renditionResolution } from '../schemas/asset.js';
import { passthrough } from '../schemas/common.js';
import { id, pixels, resolutionTier } from '../schemas/response.js';
import { type Wire, withoutNulls } from '../wire.js';

const { Optional, Object: Fields, Enum, Integer, String: Text } = Type;

export const StaticRenditionResponse = Fields(
  {
    id: Optional(id('Unique ID of the rendition. Absent for files of `mp4_support`')),
    name: Text({ description: 'File name, such as `720p.mp4`: the last part of the URL after the playback ID' }),
    ext: Enum(['mp4', 'm4a'], { description: 'File name extension: `mp4` with video, `m4a` for audio alone' }),
    type: Optional(
      Enum(['standard', 'advanced'], {
        description:
          '`standard` for `highest` and `audio-only`, `advanced` for other resolutions. Absent for files of `mp4_support`',
      }),
    ),
    status: Optional(
      Enum(['preparing', 'ready', 'skipped', 'errored'], {
        description:
          'Whether the file can be downloaded. `skipped` if it would enlarge the video or has nothing to hold. Absent for files of `mp4_support`',
      }),
    ),
    resolution: Optional(renditionResolution()),
    resolution_tier: Optional(resolutionTier('The tier of the file. Present when it is `ready`')),
    width: Optional(pixels('Width of the video. Present when the file is ready and has video')),
    height: Optional(pixels('Height of the video. Present when the file is ready and has video')),
    bitrate: Optional(Integer({ description: 'Average bitrate in bit/s. Present when the file is ready' })),
    filesize: Optional(
      Text({ pattern: '^\\d+$', description: 'Size in bytes, as a string. Present when the file is ready' }),
    ),
    passthrough: Optional(passthrough('. Present when set')),
  },
  { title: 'StaticRendition', description: 'One file of the whole asset, for download or for players without HLS' },
);

export const serializeRendition = (rendition: RenditionRecord): Wire =>
  withoutNulls({
    id: rendition.id,
    type: ['highest', 'audio-only'].includes(rendition.resolution ?? '') ? 'standard' : 'advanced',
    status: rendition.status,
    resolution: rendition.resolution,
    resolution_tier: rendition.resolution_tier,
    ...serializeFile(rendition),
    passthrough: rendition.passthrough,
  });

/** A rendition as shown in its events. */
export const serializeRenditionEvent = (rendition: RenditionRecord): Wire =>
  withoutNulls({ ...serializeRendition(rendition), asset_id: rendition.asset_id, error: rendition.error });

const serializeFile = ({ name, ext, width, height, bitrate, size_bytes: sizeBytes }: RenditionRecord): Wire =>
  withoutNulls({ name, ext, width, height, bitrate, filesize: sizeBytes === null ? null : String(sizeBytes) });

/**
 * The renditions of an asset: files with a status each, or the files of `mp4_support`, which have
 * one overall status.
 */
export const serializeRenditions = (
  {
    mp4_support: support,
    static_renditions_status: status,
  }: Pick<AssetView['asset'], 'mp4_support' | 'static_renditions_status'>,
  renditions: readonly RenditionRecord[],
): Wire | undefined => {
  if (support === 'none') return renditions.length > 0 ? { files: renditions.map(serializeRendition) } : undefined;
  const files = renditions.filter((rendition) => rendition.status === 'ready').map(serializeFile);
  return { status: status ?? 'preparing', ...(files.length > 0 && { files }) };
};
