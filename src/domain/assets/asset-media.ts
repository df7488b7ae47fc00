import { findMedia } from '../../db/tables/playback/playable.js';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import type { Plan } from '../../media/plan/plan.js';
import type { SourceFacts } from '../../media/source/source-facts.js';
import type { DomainContext } from '../context.js';

/** The file that an asset is made of, and what players are offered. */
export interface AssetMedia {
  readonly container: string;
  readonly sizeBytes: number;
  /** bit/s of the whole file. */
  readonly bitRate: number | undefined;
  /** FFmpeg's names, such as `h264` and `aac`. */
  readonly videoCodec: string | undefined;
  readonly audioCodec: string | undefined;
  /** Highest first. */
  readonly renditions: readonly {
    readonly name: string;
    readonly width: number;
    readonly height: number;
    /** RFC 6381. */
    readonly codecs: string;
    /** bit/s of the video alone, an upper bound for every segment. */
    readonly bandwidth: number;
    /** The video of the file as it is. */
    readonly isCopy: boolean;
  }[];
}

/**
 * Returns what is known of the media of an asset that is ready.
 * @throws KinoraError `not_found`; `conflict` before the asset is ready
 */
export const getAssetMedia = async (
  { database }: DomainContext,
  environmentId: string,
  assetId: string,
): Promise<AssetMedia> => {
  const row = isId(assetId) ? await findMedia(database.queryable, environmentId, assetId) : undefined;
  if (!row) throw new KinoraError('not_found');
  const [facts, plan] = [row.facts as SourceFacts | null, row.plan as Plan | null];
  if (row.status !== 'ready' || !facts || !plan) {
    throw new KinoraError('conflict', { messages: [`The asset is ${row.status}, not ready.`] });
  }
  const { formatName, sizeBytes, durationSeconds, video, audio } = facts;
  const offered = [...(plan.video?.renditions ?? []), ...(plan.video?.original ? [plan.video.original] : [])];
  return {
    container: formatName.split(',')[0]!,
    sizeBytes,
    bitRate: durationSeconds > 0 ? Math.round((sizeBytes * 8) / durationSeconds) : undefined,
    videoCodec: video?.codec,
    audioCodec: audio[0]?.codec,
    renditions: offered
      .map(({ name, width, height, codecs, bandwidth, kind }) => ({
        name,
        width,
        height,
        codecs,
        bandwidth,
        isCopy: kind === 'copy',
      }))
      .reverse(),
  };
};
