import Hls, { ErrorDetails, type ErrorData } from 'hls.js';
import workerUrl from 'hls.js/dist/hls.worker.js?url';
import { isHLSProvider, type MediaRemoteControl as MediaRemote } from 'vidstack';
import type { MediaPlayerElement, MediaPosterElement, MediaVideoLayoutElement } from 'vidstack/elements';
import 'vidstack/player';
import 'vidstack/player/layouts/default';
import 'vidstack/player/ui';
import { addChapters } from './chapters.js';
import { licenseConfig } from './key-systems.js';
import { messageFor, showMessage, UNPLAYABLE, UNSUPPORTED } from './message.js';
import { page, root } from './page-data.js';
import type { Settings } from './settings.js';

/** hls.js that repairs the decoder once. The player would repair it again and again. */
class RepairOnce extends Hls {
  #repaired = false;

  override recoverMediaError(): void {
    if (this.#repaired) return showMessage(UNPLAYABLE);
    this.#repaired = true;
    super.recoverMediaError();
  }
}

const showError = ({ fatal, type, details, response }: ErrorData): void => {
  if (!fatal || type === Hls.ErrorTypes.MEDIA_ERROR) return;
  showMessage(details === ErrorDetails.KEY_SYSTEM_NO_ACCESS ? UNSUPPORTED : messageFor(response?.code));
};

/** Safari plays HLS itself, which AirPlay needs. Encrypted videos need the license requests of hls.js. */
const prefersNative = (): boolean =>
  page.keySystems === '' && 'webkitSupportsPresentationMode' in HTMLVideoElement.prototype;

const SEEK_SECONDS = 10;

const seekKey = (keys: string, seconds: number) => ({
  keys,
  onKeyDown: ({ event, player, remote }: { event: KeyboardEvent; player: MediaPlayerElement; remote: MediaRemote }) =>
    remote.seek(Math.max(0, Math.min(player.currentTime + seconds, player.duration)), event),
});
/** Digits seek to tenths of the video; the player has them anyway. */
const KEYS = {
  togglePaused: 'k Space',
  toggleMuted: 'm',
  toggleFullscreen: 'f',
  togglePictureInPicture: 'i',
  toggleCaptions: 'c',
  back: seekKey('j J', -SEEK_SECONDS),
  ahead: seekKey('l L', SEEK_SECONDS),
  seekBackward: 'ArrowLeft',
  seekForward: 'ArrowRight',
  volumeUp: 'ArrowUp',
  volumeDown: 'ArrowDown',
  speedUp: '>',
  slowDown: '<',
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

/** Starts the player in the page. */
export const play = (settings: Settings): void => {
  const player = document.createElement('media-player') as MediaPlayerElement;
  const provider = document.createElement('media-provider');
  const layout = document.createElement('media-video-layout') as MediaVideoLayoutElement;
  player.append(provider, layout);
  if (page.poster !== '' && settings.showsPoster) {
    const poster = document.createElement('media-poster') as MediaPosterElement;
    poster.className = 'vds-poster';
    poster.src = page.poster;
    provider.append(poster);
  }
  player.addEventListener('provider-change', ({ detail }) => {
    if (!isHLSProvider(detail)) return;
    detail.library = RepairOnce;
    detail.config = { workerPath: workerUrl, startPosition: settings.startSeconds || -1, ...licenseConfig(page) };
  });
  player.addEventListener('hls-error', ({ detail }) => showError(detail));
  player.addEventListener('hls-unsupported', () => showMessage(UNSUPPORTED));
  showPreviews(player, layout);
  if (page.chapters !== '')
    player.addEventListener('can-play', () => void addChapters(player, page.chapters).catch(() => undefined), { once: true });
  Object.assign(player, {
    title: page.title,
    load: 'eager',
    preload: 'auto',
    playsInline: true,
    viewType: 'video',
    streamType: 'on-demand',
    autoPlay: settings.isAutoplaying,
    muted: settings.isMuted,
    loop: settings.isLooping,
    keyTarget: 'document',
    keyShortcuts: KEYS,
    preferNativeHLS: prefersNative(),
    src: { src: page.source, type: 'application/x-mpegurl' },
  });
  root.prepend(player);
};
