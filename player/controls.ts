import { isHLSProvider, MEDIA_KEY_SHORTCUTS, type MediaProviderLoader, type MediaRemoteControl } from 'vidstack';
import type { MediaPlayerElement, MediaProviderElement, MediaVideoLayoutElement } from 'vidstack/elements';
import 'vidstack/player';
import 'vidstack/player/layouts/default';
import 'vidstack/player/styles/default/layouts/video.css';
import 'vidstack/player/styles/default/theme.css';
import 'vidstack/player/ui';
import './controls.css';
import { addChapters } from './chapters.js';
import type { EarlyHls } from './early-hls.js';
import { showMessage, UNPLAYABLE } from './message.js';
import { page, root } from './page-data.js';
import type { Settings } from './settings.js';

const SEEK_SECONDS = 10;

const seekKey = (keys: string, seconds: number) => ({
  keys,
  onKeyDown: ({ event, player, remote }: { event: Event; player: MediaPlayerElement; remote: MediaRemoteControl }) =>
    remote.seek(Math.max(0, Math.min(player.currentTime + seconds, player.duration)), event),
});
/** The player's keys, of which `j` and `l` go further than the arrows. */
const KEYS = {
  ...MEDIA_KEY_SHORTCUTS,
  back: seekKey('j J', -SEEK_SECONDS),
  ahead: seekKey('l L', SEEK_SECONDS),
  seekBackward: 'ArrowLeft',
  seekForward: 'ArrowRight',
};

/** Previews are made and loaded when the viewer first points to the time slider or reaches it with the keyboard. */
const showPreviews = (player: MediaPlayerElement, layout: MediaVideoLayoutElement): void => {
  if (page.storyboard === '') return;
  const url = new URL(page.storyboard, location.href).href;
  const show = ({ target }: Event): void => {
    if (!(target instanceof Element) || !target.closest('media-time-slider')) return;
    layout.thumbnails = url;
    player.removeEventListener('pointerover', show);
    player.removeEventListener('focusin', show);
  };
  player.addEventListener('pointerover', show);
  player.addEventListener('focusin', show);
};

/** The player's loader creates a video element; this puts the one that plays in its place. */
const adopt = (loader: MediaProviderLoader, video: HTMLVideoElement): void => {
  const load = loader.load.bind(loader);
  loader.load = (context) => {
    loader.target?.replaceWith(video);
    loader.target = video;
    return load(context);
  };
};

/** Tells the player what its video has done before: it listens to events. */
const catchUp = (player: MediaPlayerElement, video: HTMLVideoElement): void => {
  const tell = (...names: string[]): void => {
    for (const name of names) video.dispatchEvent(new Event(name));
  };
  player.addEventListener('can-play', () => !video.paused && tell('play', 'playing'), { once: true });
  // Otherwise it pauses the video, as it does with one of its own.
  player.paused = video.paused;
  tell('loadstart');
  // After hls.js has repeated its own events: levels and audio tracks are only taken before the video can play.
  queueMicrotask(() => {
    if (video.readyState >= HTMLMediaElement.HAVE_METADATA) tell('durationchange', 'loadedmetadata');
    if (video.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA) tell('loadeddata');
    if (video.readyState >= HTMLMediaElement.HAVE_FUTURE_DATA) tell('canplay');
  });
};

/** As attributes: these properties wait until the video can play, and are then set back to the attributes. */
const setInitially = (
  player: MediaPlayerElement,
  { muted, playbackRate }: Pick<HTMLVideoElement, 'muted' | 'playbackRate'>,
): void => {
  player.toggleAttribute('muted', muted);
  player.setAttribute('playback-rate', String(playbackRate));
};

/** The player takes over what plays already. */
const takeOver = (player: MediaPlayerElement, video: HTMLVideoElement, hls: EarlyHls): void => {
  player.addEventListener('provider-loader-change', ({ detail }) => detail && adopt(detail, video), { once: true });
  player.addEventListener('provider-change', ({ detail }) => {
    if (isHLSProvider(detail)) detail.library = hls.asConstructor();
  });
  player.addEventListener('provider-setup', () => catchUp(player, video), { once: true });
  setInitially(player, video);
};

/** The browser plays the playlist itself. */
const playNatively = (player: MediaPlayerElement, settings: Settings): void => {
  const { isAutoplaying, isMuted, startSeconds } = settings;
  player.addEventListener('error', () => showMessage(UNPLAYABLE));
  if (startSeconds > 0)
    player.addEventListener('can-play', () => Object.assign(player, { currentTime: startSeconds }), { once: true });
  const poster = settings.showsPoster ? page.poster : '';
  setInitially(player, { muted: isMuted, playbackRate: 1 });
  Object.assign(player, { autoPlay: isAutoplaying, poster, preferNativeHLS: true });
};

/**
 * Puts the player's controls around the video.
 * @param hls what plays it already; undefined when the browser itself shall play it
 */
export const addControls = (video: HTMLVideoElement, hls: EarlyHls | undefined, settings: Settings): void => {
  const player = document.createElement('media-player') as MediaPlayerElement;
  const provider = document.createElement('media-provider') as MediaProviderElement;
  const layout = document.createElement('media-video-layout') as MediaVideoLayoutElement;
  player.append(provider, layout);
  if (hls) takeOver(player, video, hls);
  else {
    video.remove();
    playNatively(player, settings);
  }
  layout.hideQualityBitrate = true;
  // Seconds that the arrows seek.
  layout.seekStep = 5;
  // An upright video of 1080x1920 is 1080p, too.
  player.qualities.addEventListener('add', ({ detail }) =>
    Object.assign(detail, { height: Math.min(detail.width, detail.height) }),
  );
  showPreviews(player, layout);
  if (page.chapters !== '') {
    const add = () => void addChapters(player, page.chapters).catch(() => undefined);
    player.addEventListener('can-play', add, { once: true });
  }
  Object.assign(player, {
    title: page.title,
    load: 'eager',
    preload: 'auto',
    playsInline: true,
    // Without a poster, the player would name the page itself as the image of the system's media controls.
    artwork: settings.showsPoster && page.poster !== '' ? [{ src: page.poster }] : [],
    viewType: 'video',
    streamType: 'on-demand',
    loop: settings.isLooping,
    keyTarget: 'document',
    keyShortcuts: KEYS,
    src: { src: page.source, type: 'application/x-mpegurl' },
  });
  root.prepend(player);
};
