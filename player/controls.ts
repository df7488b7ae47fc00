import type Hls from 'hls.js';
import { type Chapter, chapterAt, loadChapters, marksOf } from './chapters.js';
import { formatTime } from './format-time.js';
import { addHelp } from './help.js';
import { addKeys } from './keys.js';
import type { LiveEdge } from './live-edge.js';
import { addJumps, addMenus } from './menus.js';
import { element, page, root } from './page-data.js';
import { createPreviews } from './previews.js';
import { Timeline } from './timeline.js';

/** Controls of a playing video disappear after this time without a movement. */
const IDLE_AFTER_MS = 3000;

/** What Safari adds. */
interface SafariVideo {
  webkitEnterFullscreen?(): void;
  webkitShowPlaybackTargetPicker?(): void;
}

const onClick = (id: string, act: () => void): void => element(id).addEventListener('click', act);

const setFill = (slider: HTMLInputElement, name: string, share: number): void =>
  slider.style.setProperty(name, `${Math.min(1, Math.max(0, share || 0)) * 100}%`);

const addPlay = (video: HTMLVideoElement): (() => void) => {
  const button = element('play');
  const start = element('start');
  const toggle = (): void => {
    if (video.paused) video.play().catch(() => undefined);
    else video.pause();
  };
  const update = (): void => {
    button.ariaLabel = video.paused ? 'Play' : 'Pause';
    root.classList.toggle('playing', !video.paused);
    if (!video.paused) start.hidden = true;
  };
  for (const event of ['play', 'pause', 'ended']) video.addEventListener(event, update);
  for (const event of ['waiting', 'seeking']) video.addEventListener(event, () => root.classList.add('waiting'));
  for (const event of ['playing', 'seeked', 'pause'])
    video.addEventListener(event, () => root.classList.remove('waiting'));
  // A browser that refuses autoplay leaves the video paused.
  video.addEventListener('loadeddata', () => {
    start.hidden = !video.paused;
  });
  onClick('play', toggle);
  onClick('start', toggle);
  update();
  return toggle;
};

const addVolume = (video: HTMLVideoElement) => {
  const slider = element<HTMLInputElement>('volume');
  const button = element('mute');
  const update = (): void => {
    const shown = video.muted ? 0 : video.volume;
    slider.value = String(shown);
    slider.ariaValueText = `${Math.round(shown * 100)} %`;
    setFill(slider, '--filled', shown);
    button.ariaPressed = String(video.muted);
  };
  /** The volume that muting goes back to; a slider that is dragged to zero passes by all others. */
  let lastVolume = video.volume;
  const set = (volume: number): void => {
    const rounded = Math.min(1, Math.max(0, Math.round(volume * 100) / 100));
    video.volume = rounded || lastVolume;
    video.muted = rounded === 0;
  };
  const keepVolume = (): void => {
    if (!video.muted) lastVolume = video.volume;
  };
  const toggleMute = (): void => {
    video.muted = !video.muted;
  };
  const change = (by: number): void => {
    // The first step after muting only brings the sound back.
    if (video.muted) video.muted = by < 0;
    else set(video.volume + by);
    keepVolume();
  };
  video.addEventListener('volumechange', update);
  slider.addEventListener('input', () => set(Number(slider.value)));
  slider.addEventListener('change', keepVolume);
  button.addEventListener('click', toggleMute);
  update();
  return { toggleMute, change };
};

const bufferedUntil = ({ buffered, currentTime }: HTMLVideoElement): number => {
  for (let at = 0; at < buffered.length; at++)
    if (buffered.start(at) <= currentTime && currentTime <= buffered.end(at)) return buffered.end(at);
  return currentTime;
};

/** Until a message takes the place of the controls. */
const eachSecond = (update: () => void): void => {
  const timer = setInterval(() => {
    if (document.contains(element('controls'))) update();
    else clearInterval(timer);
  }, 1000);
};

/** The time slider with its previews, and the time and chapter beside the buttons. */
const addSeek = (video: HTMLVideoElement, timeline: Timeline, chapters: () => readonly Chapter[]): void => {
  const slider = element<HTMLInputElement>('seek');
  const preview = element('preview');
  const showFrame = createPreviews(page.storyboard);
  // There is nothing to go back to.
  slider.hidden = page.live === 'live';
  const update = (): void => {
    // Events of a video that was removed.
    if (!slider.isConnected) return;
    const { start, end } = timeline;
    const { currentTime } = video;
    const shareOf = (seconds: number): number => (seconds - start) / (end - start);
    slider.min = String(start);
    slider.max = String(end || 1);
    slider.value = String(currentTime);
    setFill(slider, '--filled', shareOf(currentTime));
    setFill(slider, '--buffered', shareOf(bufferedUntil(video)));
    const [shown, spoken] = timeline.describe();
    element('time').textContent = shown;
    const title = chapterAt(chapters(), currentTime)?.title ?? '';
    slider.ariaValueText = [spoken, title].filter(Boolean).join(', ');
    element('chapter').textContent = title;
  };
  for (const event of ['timeupdate', 'durationchange', 'progress', 'seeking', 'seeked'])
    video.addEventListener(event, update);
  // While a live stream is paused, its edge moves on.
  if (page.live !== '') eachSecond(update);
  slider.addEventListener('input', () => timeline.seek(Number(slider.value)));
  slider.addEventListener('pointermove', ({ clientX }) => {
    const { left, width } = slider.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (clientX - left) / width));
    const { start, end } = timeline;
    const seconds = start + share * (end - start);
    const time = timeline.label(seconds);
    const title = chapterAt(chapters(), seconds)?.title;
    element('preview-text').textContent = title ? `${time} ${title}` : time;
    preview.hidden = false;
    const place = (): void => {
      const half = preview.offsetWidth / 2;
      preview.style.left = `${Math.min(width - half, Math.max(half, share * width))}px`;
    };
    place();
    void showFrame(seconds).then(place);
  });
  for (const event of ['pointerleave', 'pointercancel'])
    slider.addEventListener(event, () => {
      preview.hidden = true;
    });
  update();
};

/** The badge of a live stream: a click goes back to its edge. */
const addLive = (edge: LiveEdge, speed: { reset(): void }): void => {
  const button = element('live');
  const update = (): void => {
    const { isLive, secondsBehind } = edge;
    button.hidden = !isLive;
    root.classList.toggle('behind', secondsBehind > 0);
    button.ariaLabel = secondsBehind > 0 ? `Back to live, ${formatTime(secondsBehind)} behind` : 'Live';
    if (!isLive) return;
    if (secondsBehind === 0) speed.reset();
    edge.follow();
  };
  button.addEventListener('click', () => {
    edge.go();
    update();
  });
  eachSecond(update);
};

const addFullscreen = (video: HTMLVideoElement & SafariVideo): (() => void) => {
  const button = element('fullscreen');
  const canFill = document.fullscreenEnabled;
  button.hidden = !canFill && video.webkitEnterFullscreen === undefined;
  const toggle = (): void => {
    if (!canFill) video.webkitEnterFullscreen?.();
    else if (document.fullscreenElement) void document.exitFullscreen();
    else root.requestFullscreen().catch(() => undefined);
  };
  document.addEventListener('fullscreenchange', () => {
    button.ariaPressed = String(document.fullscreenElement !== null);
  });
  button.addEventListener('click', toggle);
  return toggle;
};

const addPip = (video: HTMLVideoElement): (() => void) => {
  element('pip').hidden = !document.pictureInPictureEnabled;
  const toggle = (): void => {
    const change = document.pictureInPictureElement ? document.exitPictureInPicture() : video.requestPictureInPicture();
    // Browsers refuse it before there are frames.
    change.catch(() => undefined);
  };
  onClick('pip', toggle);
  return toggle;
};

const addAirplay = (video: HTMLVideoElement & SafariVideo): void => {
  if (video.webkitShowPlaybackTargetPicker === undefined) return;
  video.addEventListener('webkitplaybacktargetavailabilitychanged', (event) => {
    element('airplay').hidden = (event as Event & { availability?: string }).availability !== 'available';
  });
  onClick('airplay', () => video.webkitShowPlaybackTargetPicker?.());
};

/** Clicks on the video itself; a touch only shows the controls. */
const addClicks = (video: HTMLVideoElement, togglePlay: () => void, toggleFullscreen: () => void): void => {
  video.addEventListener('click', (event) => {
    if ((event as PointerEvent).pointerType !== 'touch') togglePlay();
  });
  video.addEventListener('dblclick', toggleFullscreen);
};

const hideWhenIdle = (): void => {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const show = (): void => {
    root.classList.remove('idle');
    clearTimeout(timer);
    timer = setTimeout(() => root.classList.add('idle'), IDLE_AFTER_MS);
  };
  for (const event of ['pointermove', 'pointerdown', 'keydown', 'focusin']) root.addEventListener(event, show);
  document.addEventListener('keydown', show);
  show();
};

/**
 * Tells the style sheet how high the controls are: in a narrow window the buttons need several
 * rows.
 */
const showControls = (): void => {
  const controls = element('controls');
  controls.hidden = false;
  new ResizeObserver(() => root.style.setProperty('--controls-height', `${controls.offsetHeight}px`)).observe(controls);
};

/**
 * Adds the controls. They listen to the video and command it; what it plays is none of their
 * business.
 * @param hls what plays the video; undefined if the browser does so itself
 * @param edge only for what is on air
 */
export const addControls = (video: HTMLVideoElement, hls: Hls | undefined, edge: LiveEdge | undefined): void => {
  let chapters: readonly Chapter[] = [];
  const togglePlay = addPlay(video);
  const volume = addVolume(video);
  const toggleFullscreen = addFullscreen(video);
  const togglePip = addPip(video);
  const { text, speed } = addMenus(video, hls);
  const timeline = new Timeline(video, edge);
  const seekTo = (seconds: number): void => timeline.seek(seconds);
  addSeek(video, timeline, () => chapters);
  if (edge) addLive(edge, speed);
  const seekBy = (seconds: number): void => seekTo(video.currentTime + seconds);
  onClick('back', () => seekBy(-10));
  onClick('forward', () => seekBy(10));
  addAirplay(video);
  addClicks(video, togglePlay, toggleFullscreen);
  addKeys({
    togglePlay,
    toggleMute: volume.toggleMute,
    toggleText: text.toggle,
    toggleFullscreen,
    togglePip,
    toggleHelp: addHelp(),
    seekBy,
    seekToShare: (share) => seekTo(timeline.start + share * (timeline.end - timeline.start)),
    changeVolume: volume.change,
    changeSpeed: speed.change,
  });
  hideWhenIdle();
  showControls();
  if (navigator.mediaSession) {
    const artwork = page.poster === '' ? [] : [{ src: page.poster }];
    navigator.mediaSession.metadata = new MediaMetadata({ title: page.title, artwork });
  }
  // Not in the way of the first frame.
  video.addEventListener(
    'loadeddata',
    () =>
      void loadChapters(page.chapters).then((loaded) => {
        chapters = loaded;
        element('seek').style.setProperty('--marks', marksOf(loaded, video.duration));
        addJumps('chapters', loaded, (seconds) => {
          seekTo(seconds);
          video.play().catch(() => undefined);
        });
      }),
    { once: true },
  );
};
