import {
  AV_CODEC_PROP_BITMAP_SUB,
  AV_DISPOSITION_CAPTIONS,
  AV_DISPOSITION_FORCED,
  AV_DISPOSITION_HEARING_IMPAIRED,
  AVMEDIA_TYPE_SUBTITLE,
} from 'node-av/constants';
import type { Stream } from 'node-av/lib';
import type { StreamLabel, TextFacts } from '../../media/source/source-facts.js';
import { codecNameOf } from '../ffmpeg/supported-media.js';

/** Longer titles are cut: they become names in menus. */
const MAX_TITLE_CHARACTERS = 255;

/** Undefined when the stream has no subtitles. */
export const describeText = (stream: Stream): TextFacts | undefined => {
  const { codecpar, disposition } = stream;
  if (codecpar.codecType !== AVMEDIA_TYPE_SUBTITLE) return undefined;
  return {
    streamIndex: stream.index,
    codec: codecNameOf(stream),
    isImage: codecpar.hasProperties(AV_CODEC_PROP_BITMAP_SUB),
    isForced: (disposition & AV_DISPOSITION_FORCED) !== 0,
    isForHearingImpaired: (disposition & (AV_DISPOSITION_HEARING_IMPAIRED | AV_DISPOSITION_CAPTIONS)) !== 0,
    ...labelOf(stream),
  };
};

/** Language and title of a stream. MP4 has a `name` where others have a `title`. */
export const labelOf = ({ metadata }: Stream): StreamLabel => {
  const language = metadata?.get('language');
  const title = cleanTitle(metadata?.get('title') ?? metadata?.get('name') ?? '');
  return { ...(language && language !== 'und' && { language }), ...(title !== '' && { title }) };
};

/**
 * A title on one line. The cut leaves no half of a surrogate pair, which JSON of the database can't
 * contain.
 */
export const cleanTitle = (title: string): string =>
  title
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_TITLE_CHARACTERS)
    .replace(/[\ud800-\udbff]$/, '');
