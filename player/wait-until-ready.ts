import { messageForState, showMessage } from './message.js';
import { type PageData, page } from './page-data.js';

const POLL_MS = 1000;
/** Many viewers wait for a live stream at the same time. */
const LIVE_POLL_MS = 2000;

/** The part of the page's data that changes. */
export type PageState = Pick<PageData, 'status' | 'reason' | 'live'>;

/** The time until a page of a live stream asks again: another one for each viewer. */
export const livePollMs = (): number => LIVE_POLL_MS * (0.5 + Math.random());

/**
 * What a newly loaded page says; undefined if it says nothing. Playlists answer the same while a
 * video is being prepared and after that has failed.
 */
export const readPageState = async (): Promise<PageState | undefined> => {
  const response = await fetch(location.href, { headers: { accept: 'text/html' }, cache: 'no-store' });
  const loaded = new DOMParser().parseFromString(await response.text(), 'text/html');
  const { status, reason = '', live = '' } = loaded.querySelector<HTMLElement>('#player')?.dataset ?? {};
  return status === undefined ? undefined : { status, reason, live };
};

const poll = async (): Promise<void> => {
  // A server that is briefly unreachable (a restart) or fails is asked again, like one that is not
  // ready.
  const now = await readPageState().catch(() => undefined);
  if (now?.status === '200' && now.live !== 'ended') return location.reload();
  if (now && now.status !== '412' && now.status !== '200') return showMessage(messageForState(now));
  waitUntilReady();
};

/** Loads the page again as soon as the video can be played, or says why it never will. */
export const waitUntilReady = (): void => {
  const isPrepared = page.live === '' && page.reason === '';
  setTimeout(() => void poll(), isPrepared ? POLL_MS : livePollMs());
};
