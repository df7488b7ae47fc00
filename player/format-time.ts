/** Seconds as `0:07`, `12:34` or `1:02:03`, without the part of a second that has begun. */
export const formatTime = (seconds: number): string => {
  const whole = Math.floor(Number.isFinite(seconds) ? seconds : 0);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const padded = String(rest).padStart(2, '0');
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${padded}` : `${minutes}:${padded}`;
};

/**
 * The time of playback and the duration. The duration is rounded, as in the console, and the end of
 * the video is there.
 */
export const formatProgress = (seconds: number, duration: number): readonly [at: string, all: string] => {
  const all = formatTime(Math.round(duration));
  return [seconds >= duration - 0.1 ? all : formatTime(seconds), all];
};
