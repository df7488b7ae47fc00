import type { Line } from './captions.js';
import { asData } from './model-asker.js';

/** A shot as models read it. */
export interface ShotLine {
  readonly number: number;
  readonly startSeconds: number;
  readonly endSeconds: number;
  /** What is said during the shot. */
  readonly lines: readonly Line[];
}

/** A frame of each shot, if a model can see. */
export type FramesOf = ((shots: readonly ShotLine[]) => Promise<string[]>) | undefined;

/** Most models can't handle more images than this in one question. */
const MAX_FRAMES = 16;

const describe = ({ number, startSeconds, endSeconds, lines }: ShotLine): string =>
  `${number}: ${startSeconds.toFixed(1)}-${endSeconds.toFixed(1)} ${lines.map(({ text }) => text).join(' ')}`;

export const shotLength = (shot: ShotLine): number => describe(shot).length;

/** The part of a question that lists the shots, with frames for at most 16 of them. */
export const showShots = async (
  shots: readonly ShotLine[],
  framesOf: FramesOf,
): Promise<{ readonly text: string; readonly images?: string[] }> => {
  const text = `Shots:\n${asData(shots.map(describe).join('\n'))}`;
  if (!framesOf) return { text };
  const every = Math.ceil(shots.length / MAX_FRAMES);
  const shown = shots.filter((_, at) => at % every === 0);
  const numbers = shown.map(({ number }) => number).join(', ');
  return { text: `${text}\n\nThe frames are of these shots, in order: ${numbers}.`, images: await framesOf(shown) };
};
