import { ENDED, INTERRUPTED, messageFor, messageForState, showMessage } from './message.js';
import { element, page } from './page-data.js';
import { livePollMs, readPageState, waitUntilReady } from './wait-until-ready.js';

/** A live stream that shows nothing for so long is interrupted. */
const PATIENCE_MS = 5000;
/** A server that has just started may not know yet what is on air. */
const STARTUP_MS = 30_000;

const showNotice = (text: string): void => {
  const notice = element('notice');
  notice.textContent = text;
  notice.hidden = text === '';
};

/**
 * What happens when a live stream is interrupted or ends. The page waits for as long as it is open,
 * because an encoder or a server may come back.
 * @param resume loads on from where it stopped
 * @param isOver the end is known, and playback has reached it
 * @returns what to call when loading has failed for good
 */
export const keepLive = (video: HTMLVideoElement, resume: () => void, isOver: () => boolean): (() => void) => {
  let isAsking = false;
  let lostMs = 0;
  const ask = async (): Promise<void> => {
    // Unreachable: a restart.
    const state = await readPageState().catch(() => undefined);
    const isStarting = state?.status === '412' && performance.now() - lostMs < STARTUP_MS;
    if (state === undefined || isStarting) return askLater();
    if (state.status === '200' && state.live !== 'ended') {
      // A recording that is not on air any more has other files.
      if (state.live !== page.live) return location.reload();
      isAsking = false;
      return resume();
    }
    showMessage(messageForState(state));
    if (state.status === '412' || state.status === '200') waitUntilReady();
  };
  const askLater = (): void => {
    setTimeout(() => void ask(), livePollMs());
  };

  let noticeTimer: ReturnType<typeof setTimeout> | undefined;
  const wait = (): void => {
    clearTimeout(noticeTimer);
    // Where audio and video end far apart, hls.js may wait for more of one of them.
    noticeTimer = setTimeout(() => (isOver() ? end() : showNotice(INTERRUPTED)), PATIENCE_MS);
  };
  const calm = (): void => {
    clearTimeout(noticeTimer);
    showNotice('');
  };
  const end = (): void => {
    calm();
    // Everything can be watched again.
    if (page.live === 'dvr') {
      showNotice(ENDED);
      return;
    }
    showMessage(messageFor('ended'));
    waitUntilReady();
  };
  video.addEventListener('waiting', wait);
  for (const event of ['playing', 'pause']) video.addEventListener(event, calm);
  video.addEventListener('ended', end);
  return () => {
    if (isAsking) return;
    isAsking = true;
    lostMs = performance.now();
    askLater();
  };
};
