import { messageFor, showMessage } from './message.js';

const POLL_MS = 1000;

/**
 * Returns the status in a newly loaded page. Playlists answer the same while a video is being
 * prepared and after that has failed.
 */
const currentStatus = async (): Promise<string | undefined> => {
  const response = await fetch(location.href, { headers: { accept: 'text/html' }, cache: 'no-store' });
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  return page.querySelector<HTMLElement>('#player')?.dataset.status;
};

const poll = async (): Promise<void> => {
  // A server that is briefly unreachable (a restart) or fails is asked again, like one that is not
  // ready.
  const now = (await currentStatus().catch(() => undefined)) ?? '412';
  if (now === '200') return location.reload();
  if (now !== '412') return showMessage(messageFor(now));
  waitUntilReady();
};

/** Loads the page again as soon as the video can be played, or says why it never will. */
export const waitUntilReady = (): void => {
  setTimeout(() => void poll(), POLL_MS);
};
