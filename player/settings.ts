/** What the query of the page's URL says about playback. */
export interface Settings {
  readonly startSeconds: number;
  readonly isAutoplaying: boolean;
  readonly isMuted: boolean;
  readonly isLooping: boolean;
  /** A video that starts at once shows its first frame sooner than a poster. */
  readonly showsPoster: boolean;
  /** How the video plays may be reported to the server. */
  readonly isTracking: boolean;
}

/** Seconds of `90`, `90.5`, `90s`, `1m30s` or `1h2m3s`; 0 for anything else. */
export const parseStart = (text: string | null): number => {
  const [, hours, minutes, seconds] = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?$/.exec(text ?? '') ?? [];
  return Number(hours ?? 0) * 3600 + Number(minutes ?? 0) * 60 + Number(seconds ?? 0);
};

/**
 * `?muted`, `?muted=1` and `?muted=true` switch a setting on, `?muted=0` and `?muted=false` off.
 */
const readSwitch = (query: URLSearchParams, name: string, otherwise: boolean): boolean => {
  const value = query.get(name);
  return value === null ? otherwise : !['0', 'false', 'no', 'off'].includes(value.toLowerCase());
};

/**
 * @param query of the page's URL
 * @param isFramed a page inside another one waits for the viewer, a page that was opened for the
 * video plays it
 */
export const readSettings = (query: URLSearchParams, isFramed: boolean): Settings => {
  const isAutoplaying = readSwitch(query, 'autoplay', !isFramed);
  return {
    startSeconds: parseStart(query.get('t')),
    isAutoplaying,
    isMuted: readSwitch(query, 'muted', false),
    isLooping: readSwitch(query, 'loop', false),
    showsPoster: !isAutoplaying || query.has('poster'),
    isTracking: readSwitch(query, 'tracking', true),
  };
};
