import type { VideoFacts } from '../source/source-facts.js';
import type { Size } from './ladder.js';
import type { OverlayPlacement, VideoFilters } from './plan.js';

const HDR_TRANSFERS: Readonly<Record<string, 'pq' | 'hlg'>> = { smpte2084: 'pq', 'arib-std-b67': 'hlg' };
const SDR_COLOR = { primaries: 'bt709', transfer: 'bt709', matrix: 'bt709', range: 'tv' };

export interface FilterSettings {
  readonly isTest: boolean;
  /** Positions overlays on a frame of this shape (upright, square pixels). */
  readonly placeOverlays?: (frame: Size) => readonly OverlayPlacement[];
}

/** What of the input of a plan decides about its filters. */
interface FilterInput {
  readonly mezzanine?: object;
  readonly settings: FilterSettings;
}

/** The filters of an asset's renditions. The frames of a mezzanine are upright and SDR already. */
export const planFilters = ({ mezzanine, settings }: FilterInput, facts: VideoFacts, display: Size): VideoFilters => {
  const overlays = settings.placeOverlays?.(display) ?? [];
  const laidOver = { testMark: settings.isTest, ...(overlays.length > 0 && { overlays }) };
  if (mezzanine) return { deinterlace: false, color: SDR_COLOR, rotation: 0, flipHorizontal: false, ...laidOver };
  return { ...sourceFilters(facts), ...laidOver };
};

/** The filters that make the source's frames upright, progressive and SDR. */
export const sourceFilters = ({ interlaced, color, rotation, flipHorizontal }: VideoFacts): VideoFilters => {
  const toneMap = HDR_TRANSFERS[color.transfer];
  return { deinterlace: interlaced, ...(toneMap && { toneMap }), color, rotation, flipHorizontal, testMark: false };
};
