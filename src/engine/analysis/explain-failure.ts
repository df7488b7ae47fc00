import { AVERROR_EOF, AVERROR_INVALIDDATA, AVERROR_PATCHWELCOME } from 'node-av/constants';
import { rejections } from '../../media/source/rejections.js';
import type { MediaSource } from '../../pool/protocol.js';
import { readMoov } from './read-moov.js';

/** The message for the owner of a file whose format FFmpeg recognizes but can't open. */
export const explainFailure = async (source: MediaSource, formatName: string, code: unknown): Promise<string> => {
  if (code === AVERROR_PATCHWELCOME) return rejections.format(formatName);
  if (code === AVERROR_EOF) return rejections.damagedBy('it ends within its header');
  // The other codes can also come from the operating system.
  if (code !== AVERROR_INVALIDDATA) return rejections.damaged;
  const lacksIndex = formatName.startsWith('mov') && !(await readMoov(source));
  return rejections.damagedBy(
    lacksIndex ? 'its index (the moov box) is missing or cut off' : 'its header holds invalid data',
  );
};
