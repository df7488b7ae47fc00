import Hls, { type HlsListeners } from 'hls.js';
import { element } from './page-data.js';

/** How fast hls.js catches up with a live stream after a stall: hardly audible. */
export const CATCH_UP_RATE = 1.2;
const SPEEDS = [0.5, 0.75, 1, 1.25, 1.5, 1.75, 2];

const select = (id: string): HTMLSelectElement => element<HTMLSelectElement>(id);

/** Fills a menu, and shows it when there is something to choose. */
const fill = (menu: HTMLSelectElement, options: readonly (readonly [text: string, value: string | number])[]): void => {
  menu.replaceChildren(...options.map(([text, value]) => new Option(text, String(value))));
  menu.parentElement!.hidden = options.length < 2;
};

const onEvents = (hls: Hls, events: readonly (keyof HlsListeners)[], update: () => void): void => {
  for (const event of events) hls.on(event, update);
};

const addQuality = (hls: Hls): void => {
  const menu = select('quality');
  const { Events } = Hls;
  hls.on(Events.MANIFEST_PARSED, () => {
    const levels = hls.levels
      // An upright video of 1080x1920 is 1080p, too.
      .map(({ width, height }, index) => ({ lines: Math.min(width, height), index }))
      .filter(({ lines }) => lines > 0)
      .sort((a, b) => b.lines - a.lines);
    const options = levels.map(({ lines, index }) => [`${lines}p`, index] as const);
    fill(menu, options.length > 1 ? [['Auto', -1], ...options] : []);
    menu.value = '-1';
  });
  menu.addEventListener('change', () => {
    hls.nextLevel = Number(menu.value);
  });
};

const addAudio = (hls: Hls): void => {
  const menu = select('audio');
  const { Events } = Hls;
  onEvents(hls, [Events.AUDIO_TRACKS_UPDATED, Events.AUDIO_TRACK_SWITCHED], () => {
    fill(
      menu,
      hls.audioTracks.map(({ name }, index) => [name, index]),
    );
    menu.value = String(hls.audioTrack);
  });
  menu.addEventListener('change', () => {
    hls.audioTrack = Number(menu.value);
  });
};

const isText = ({ kind }: TextTrack): boolean => kind === 'subtitles' || kind === 'captions';

/**
 * Subtitles and captions of the video: a menu, and a button that switches the last choice on and
 * off.
 */
const addText = (video: HTMLVideoElement): { toggle(): void } => {
  const menu = select('text');
  const button = element('captions');
  let lastShown = 0;
  const tracks = (): TextTrack[] => [...video.textTracks].filter(isText);
  const show = (index: number): void => {
    for (const [at, track] of tracks().entries()) track.mode = at === index ? 'showing' : 'disabled';
  };
  const shownIndex = (): number => tracks().findIndex(({ mode }) => mode === 'showing');
  const update = (): void => {
    const names = tracks().map(({ label, language }, index) => [label || language || `${index + 1}`, index] as const);
    fill(menu, [['Off', -1], ...names]);
    const shown = shownIndex();
    if (shown >= 0) lastShown = shown;
    menu.value = String(shown);
    button.hidden = names.length === 0;
    button.ariaPressed = String(shown >= 0);
  };
  for (const event of ['addtrack', 'removetrack', 'change']) video.textTracks.addEventListener(event, update);
  menu.addEventListener('change', () => show(Number(menu.value)));
  const toggle = (): void => show(shownIndex() >= 0 ? -1 : Math.min(lastShown, tracks().length - 1));
  button.addEventListener('click', toggle);
  update();
  return { toggle };
};

const addSpeed = (video: HTMLVideoElement, hls: Hls | undefined) => {
  const menu = select('speed');
  let speed = 1;
  fill(
    menu,
    SPEEDS.map((speed) => [speed === 1 ? 'Normal' : `${speed}×`, speed]),
  );
  const set = (wanted: number): void => {
    speed = wanted;
    menu.value = String(speed);
    // Of a live stream, hls.js would undo another speed.
    if (hls) hls.config.maxLiveSyncPlaybackRate = speed === 1 ? CATCH_UP_RATE : 1;
    video.playbackRate = speed;
  };
  menu.addEventListener('change', () => set(Number(menu.value)));
  menu.value = String(speed);
  return {
    change: (steps: number): void =>
      set(SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, SPEEDS.indexOf(speed) + steps))]!),
    /** At the edge of a live stream, nothing can be played faster. */
    reset: (): void => {
      if (speed > 1) set(1);
    },
  };
};

/** The settings of the video, and what keys can change of them. */
export const addMenus = (video: HTMLVideoElement, hls: Hls | undefined) => {
  // A browser that plays the playlist itself chooses quality and audio.
  if (hls) {
    addQuality(hls);
    addAudio(hls);
  }
  return { text: addText(video), speed: addSpeed(video, hls) };
};

/** Adds a menu whose choices jump to a time. */
export const addJumps = (
  id: string,
  choices: readonly { readonly title: string; readonly startSeconds: number }[],
  jump: (seconds: number) => void,
): void => {
  const menu = select(id);
  fill(
    menu,
    choices.map(({ title, startSeconds }) => [title, startSeconds]),
  );
  menu.parentElement!.hidden = choices.length === 0;
  menu.addEventListener('change', () => jump(Number(menu.value)));
};
