import { type Wire, withoutNulls } from '../wire.js';

export interface RenditionRecord {
  readonly id: string;
  readonly asset_id: string;
  readonly name: string;
  readonly ext: 'mp4' | 'm4a';
  /** Null for the files of `mp4_support`. */
  readonly resolution: string | null;
  readonly status: 'preparing' | 'ready' | 'skipped' | 'errored';
  readonly width: number | null;
  readonly height: number | null;
  readonly bitrate: number | null;
  readonly size_bytes: number | null;
  readonly resolution_tier: string | null;
  readonly passthrough: string | null;
  readonly error: object | null;
}

interface Mp4SupportRecord {
  readonly mp4_support: string;
  readonly static_renditions_status: string | null;
}

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

/** The renditions of an asset: files with a status each, or the files of `mp4_support`, which have one overall status. */
export const serializeRenditions = (
  { mp4_support: support, static_renditions_status: status }: Mp4SupportRecord,
  renditions: readonly RenditionRecord[],
): Wire | undefined => {
  if (support === 'none') return renditions.length > 0 ? { files: renditions.map(serializeRendition) } : undefined;
  const files = renditions.filter((rendition) => rendition.status === 'ready').map(serializeFile);
  return { status: status ?? 'preparing', ...(files.length > 0 && { files }) };
};
