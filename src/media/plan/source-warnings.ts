import { matrixSupport } from '../codecs/color-names.js';
import type { SourceFacts } from '../source/source-facts.js';
import type { Plan } from './plan.js';

/** What is told with `video.asset.warning` about a source. */
export interface SourceWarning {
  readonly type: 'stream_dropped' | 'colors_changed' | 'frame_rate_assumed' | 'frames_lost';
  /** A sentence for the owner of the file. */
  readonly message: string;
}

/** Frames that a segment lacks because they could not be decoded. */
export interface SegmentLoss {
  /** At least 1. */
  readonly frames: number;
  /** The start and the end of the segment in the asset. */
  readonly fromSeconds: number;
  readonly untilSeconds: number;
}

/** Everything about a source that an asset does not show as it is in the file. */
export const describeWarnings = (facts: SourceFacts, plan: Plan): SourceWarning[] => [
  ...describeDropped(facts, plan),
  ...describeColors(facts, plan),
  ...describeFrameRate(facts, plan),
  ...describeLost(plan),
];

/** The video and audio streams that an asset can't use. */
const describeDropped = (facts: SourceFacts, plan: Plan): SourceWarning[] => {
  const tell = (type: string, index: number, reason: string): SourceWarning => ({
    type: 'stream_dropped',
    message: `The ${type} stream ${index} was left out. ${reason}`,
  });
  const empty = 'It contains nothing that can be played.';
  const { video, audio, unplayable = [], otherVideo = [] } = facts;
  return [
    ...unplayable.map(({ type, streamIndex, reason }) => tell(type, streamIndex, reason)),
    ...otherVideo.map(({ type, streamIndex }) => tell(type, streamIndex, 'Only one video stream of a file is used.')),
    ...(video && !plan.video ? [tell('video', video.streamIndex, empty)] : []),
    ...(audio[0] && !plan.audio ? [tell('audio', audio[0].streamIndex, empty)] : []),
  ];
};

const describeColors = ({ video }: SourceFacts, plan: Plan): SourceWarning[] => {
  if (!video || !plan.video || matrixSupport(video.color) !== 'none') return [];
  const message =
    `The color matrix ${video.color.matrix} of the video is not supported, so its colors are not exact. ` +
    'Convert the video to BT.709 or BT.2020 before you upload it.';
  return [{ type: 'colors_changed', message }];
};

const describeFrameRate = ({ video }: SourceFacts, plan: Plan): SourceWarning[] => {
  if (!video?.frameRateAssumed || !plan.video) return [];
  const { num, den } = video.frameRate;
  const message =
    `The file does not state the frame rate of its video, so ${Math.round((num / den) * 1000) / 1000} frames a second are assumed. ` +
    'If that is wrong, put the video into a file that has times, such as MP4 or Matroska.';
  return [{ type: 'frame_rate_assumed', message }];
};

const describeLost = ({ video }: Plan): SourceWarning[] => {
  const lost = video?.lostFrames ?? 0;
  if (lost === 0) return [];
  return [{ type: 'frames_lost', message: tellLost(lost, 'the video') }];
};

/** The warning about the first segment of an asset that lacks frames. */
export const describeSegmentLoss = ({ frames, fromSeconds, untilSeconds }: SegmentLoss): SourceWarning => {
  const [from, until] = [fromSeconds, untilSeconds].map((seconds) => Math.round(seconds * 10) / 10);
  const message = `${tellLost(frames, `the video between ${from} s and ${until} s`)} Other parts may lack frames too.`;
  return { type: 'frames_lost', message };
};

const tellLost = (lost: number, what: string): string => {
  const [frames, were] = lost === 1 ? ['1 frame', 'was'] : [`${lost} frames`, 'were'];
  return `${frames} of ${what} could not be decoded and ${were} left out.`;
};
