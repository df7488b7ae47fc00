import type { LiveSubtitles } from '../../domain/playback/live-feed.js';
import type { Transcriber } from '../../speech/transcriber.js';
import { type LiveSubtitlesDeps, LiveSubtitlesTrack, type SubtitlesOptions } from './live-subtitles.js';

export interface SubtitleMakerDeps extends Omit<LiveSubtitlesDeps, 'transcriber'> {
  /** Absent when speech recognition is not configured. */
  readonly transcriber: Transcriber | undefined;
  /** Hints from the vocabularies of the asset's environment. */
  readonly listPhrases: (assetId: string) => Promise<string[]>;
}

interface OpenOptions extends Pick<SubtitlesOptions, 'feed' | 'onChange'> {
  readonly subtitles: LiveSubtitles;
  /** What was recorded before stays without text. */
  readonly isContinued: boolean;
}

/** Adds subtitles to what is on air. */
export class SubtitleMaker {
  readonly #deps: SubtitleMakerDeps;

  constructor(deps: SubtitleMakerDeps) {
    this.#deps = deps;
  }

  /** Undefined when nothing can be recognized: without audio, or in this language. */
  async open({ subtitles, isContinued, ...options }: OpenOptions): Promise<LiveSubtitlesTrack | undefined> {
    const { transcriber, listPhrases } = this.#deps;
    const { assetId } = options.feed;
    const logger = this.#deps.logger.child({ asset_id: assetId, track_id: subtitles.trackId });
    if (!transcriber || !options.feed.track('audio')) return undefined;
    try {
      await transcriber.check(subtitles.languageCode.split('-')[0]!);
      const phrases = await listPhrases(assetId);
      const deps = { ...this.#deps, transcriber, logger };
      return new LiveSubtitlesTrack(deps, { ...subtitles, ...options, phrases }, isContinued);
    } catch (error) {
      logger.warn({ err: error }, 'live stream has no subtitles');
      return undefined;
    }
  }
}
