import type { SourceFacts } from '../source/source-facts.js';
import type { Plan } from './plan.js';

/**
 * The video and audio streams that an asset does not use from its source, each with the reason, in sentences for the
 * owner of the file. Audio streams besides the main one are not reported.
 */
export const describeDropped = (facts: SourceFacts, plan: Plan): string[] => {
  const tell = (type: string, index: number, reason: string): string =>
    `The ${type} stream ${index} was left out. ${reason}`;
  const empty = 'It contains nothing that can be played.';
  const { video, audio, unplayable = [], otherVideo = [] } = facts;
  return [
    ...unplayable.map(({ type, streamIndex, reason }) => tell(type, streamIndex, reason)),
    ...otherVideo.map(({ type, streamIndex }) => tell(type, streamIndex, 'Only one video stream of a file is used.')),
    ...(video && !plan.video ? [tell('video', video.streamIndex, empty)] : []),
    ...(audio[0] && !plan.audio ? [tell('audio', audio[0].streamIndex, empty)] : []),
  ];
};
