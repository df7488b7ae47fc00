// A small player: hls.js where Media Source Extensions work, native HLS in Safari.
const root = document.querySelector('#player');
const video = root.querySelector('video');
const message = root.querySelector('#message');
const select = root.querySelector('select');
const { source, status, keySystems, licenseToken } = root.dataset;

const POLL_MS = 1000;
const SEEK_SECONDS = 5;

const messages = {
  400: 'The address of this video contains an invalid setting.',
  403: 'You do not have access to this video.',
  404: 'This video does not exist.',
  412: 'This video is being prepared. It appears here as soon as it is ready.',
  errored: 'This video could not be processed.',
};
const UNPLAYABLE = 'The video could not be played.';
const UNSUPPORTED = 'This browser cannot play the video.';

/** Names in license URLs, and the browsers' names of the key systems. */
const KEY_SYSTEMS = {
  widevine: 'com.widevine.alpha',
  playready: 'com.microsoft.playready',
  fairplay: 'com.apple.fps',
  clearkey: 'org.w3.clearkey',
};

const showMessage = (text) => {
  message.textContent = text;
  message.hidden = false;
  video.hidden = true;
};

/** Browsers may refuse autoplay; the viewer can then use the controls. */
const start = () => video.play().catch(() => undefined);

const showLevels = (hls) => {
  const option = (text, value) => select.append(new Option(text, value));
  option('Auto', -1);
  const levels = hls.levels
    .map(({ width, height }, index) => ({ lines: Math.min(width, height), index }))
    .filter(({ lines }) => lines > 0)
    .sort((a, b) => b.lines - a.lines);
  for (const { lines, index } of levels) option(`${lines}p`, index);
  select.parentElement.hidden = select.options.length < 3;
  select.addEventListener('change', () => {
    hls.nextLevel = Number(select.value);
    video.focus();
  });
};

const timeText = (seconds) => {
  const whole = Math.floor(seconds);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return (parts[0] > 0 ? parts : parts.slice(1)).map((part) => String(part).padStart(2, '0')).join(':');
};

/** Adds a button for each chapter. The video plays without them, so a failure is not shown. */
const showChapters = async () => {
  const answer = await fetch(source.replace('.m3u8', '/metadata.json'));
  const chapters = (await answer.json()).filter(({ chapter }) => chapter !== undefined);
  if (chapters.length === 0) return;
  const buttons = chapters.map(({ titles, 'start-time': at }) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = `${timeText(at)} ${titles[0].title}`;
    button.addEventListener('click', () => {
      video.currentTime = at;
      start();
    });
    return { button, at };
  });
  const nav = root.querySelector('nav');
  nav.append(...buttons.map(({ button }) => button));
  nav.hidden = false;
  video.addEventListener('timeupdate', () => {
    const current = buttons.findLast(({ at }) => at <= video.currentTime + 0.05);
    for (const one of buttons) one.button.ariaCurrent = one === current ? 'true' : null;
  });
};

/** License settings for hls.js. The page only names key systems when the video is encrypted. */
const drmOptions = () => {
  if (keySystems === '') return {};
  const playbackId = source.slice(1, source.indexOf('.m3u8'));
  const systems = keySystems.split(' ').map((name) => {
    const path = `${name}/${playbackId}?token=${encodeURIComponent(licenseToken)}`;
    const certificate = name === 'fairplay' && { serverCertificateUrl: `/appcert/${path}` };
    return [KEY_SYSTEMS[name], { licenseUrl: `/license/${path}`, ...certificate }];
  });
  return { emeEnabled: true, drmSystems: Object.fromEntries(systems) };
};

const play = () => {
  const isEncrypted = keySystems !== '';
  if (isEncrypted && licenseToken === '') return showMessage(messages[403]);
  message.hidden = true;
  video.hidden = false;
  const native = video.canPlayType('application/vnd.apple.mpegurl') !== '' && !isEncrypted;
  const safari = native && 'webkitSupportsPresentationMode' in video;
  if (safari || !window.Hls?.isSupported()) {
    if (!native) return showMessage(UNSUPPORTED);
    video.src = source;
    video.addEventListener('error', () => showMessage(UNPLAYABLE));
    return start();
  }
  const hls = new window.Hls({ workerPath: '/player/hls.worker.js', ...drmOptions() });
  let recovered = false;
  hls.on(window.Hls.Events.MANIFEST_PARSED, () => {
    showLevels(hls);
    start();
  });
  hls.on(window.Hls.Events.ERROR, (_, { fatal, type, details, response }) => {
    if (!fatal) return;
    if (type === window.Hls.ErrorTypes.MEDIA_ERROR && !recovered) {
      recovered = true;
      hls.recoverMediaError();
      return;
    }
    hls.destroy();
    const isUnsupported = details === window.Hls.ErrorDetails.KEY_SYSTEM_NO_ACCESS;
    showMessage(isUnsupported ? UNSUPPORTED : (messages[response?.code] ?? UNPLAYABLE));
  });
  hls.loadSource(source);
  hls.attachMedia(video);
};

/**
 * Returns the status in a newly loaded page. Playlists answer the same while a video is being prepared and after that
 * has failed.
 */
const currentStatus = async () => {
  const answer = await fetch(location.href, { headers: { accept: 'text/html' }, cache: 'no-store' });
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  return page.querySelector('#player')?.dataset.status;
};

const pollUntilReady = async () => {
  // A server that is briefly unreachable (a restart) or fails is asked again, like one that is not ready.
  const now = (await currentStatus().catch(() => undefined)) ?? '412';
  if (now === '200') return location.reload();
  if (now !== '412') return showMessage(messages[now] ?? UNPLAYABLE);
  setTimeout(pollUntilReady, POLL_MS);
};

const keys = {
  ' ': () => (video.paused ? start() : video.pause()),
  k: () => keys[' '](),
  m: () => {
    video.muted = !video.muted;
  },
  f: () => (document.fullscreenElement ? document.exitFullscreen() : video.requestFullscreen()),
  ArrowLeft: () => {
    video.currentTime -= SEEK_SECONDS;
  },
  ArrowRight: () => {
    video.currentTime += SEEK_SECONDS;
  },
};

document.addEventListener('keydown', (event) => {
  // The browser's own controls handle keys when the video has focus, and the list handles its own.
  if (event.target === video || event.target === select || event.ctrlKey || event.metaKey || event.altKey) return;
  const act = keys[event.key];
  if (!act || video.hidden) return;
  event.preventDefault();
  act();
});

if (status === '200') {
  play();
  showChapters().catch(() => undefined);
} else {
  showMessage(messages[status] ?? UNPLAYABLE);
  if (status === '412') setTimeout(pollUntilReady, POLL_MS);
}
