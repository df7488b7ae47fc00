// The rungs that Kinora gives a 1080p source in basic quality, and the ffmpeg options for the same
// frames.

export const maxRates = { 1080: 3500, 720: 1800, 480: 900, 270: 300 };

export const scaleTo = ({ width, height }) => `scale=${width}:${height}:flags=bicubic`;

/** The settings of Kinora's encoder; `kilobits` is the maximum rate of the rung. */
export const x264 = (kilobits, crf = 23) => [
  ...['-preset', 'veryfast', '-profile:v', 'high', '-crf', String(crf), '-bf', '2'],
  ...['-maxrate', `${Math.round(0.83 * kilobits)}k`, '-bufsize', `${Math.round(0.58 * kilobits)}k`],
];
