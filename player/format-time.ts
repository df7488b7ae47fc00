/** Seconds as `0:07`, `12:34` or `1:02:03`. */
export const formatTime = (seconds: number): string => {
  const whole = Math.floor(Number.isFinite(seconds) ? seconds : 0);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const padded = String(rest).padStart(2, '0');
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${padded}` : `${minutes}:${padded}`;
};
