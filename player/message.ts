import { element, type PageData, root } from './page-data.js';

const MESSAGES: Readonly<Record<string, string>> = {
  400: 'The address of this video contains an invalid setting.',
  403: 'You do not have access to this video.',
  404: 'This video does not exist.',
  412: 'This video is being prepared. It appears here as soon as it is ready.',
  ended: 'The live stream has ended. If it starts again, it plays here.',
  errored: 'This video could not be processed.',
};
export const ENDED = 'The live stream has ended.';
export const INTERRUPTED = 'The live stream is interrupted. It goes on by itself.';
export const UNPLAYABLE = 'The video could not be played.';
export const UNSUPPORTED = 'This browser cannot play the video.';

/** Why a page waits, by the reason that playlists give for a 412. */
const WAITS: Readonly<Record<string, string>> = {
  'Live stream is not active': 'The live stream is not on air. It plays here as soon as it starts.',
};
/** What a viewer can do about a 403, by the reason that playlists give. */
const REASONS: Readonly<Record<string, string>> = {
  'Token is missing': 'It can only be watched with a signed link, and this link has no token.',
  'Token has expired': 'The link has expired. Ask whoever sent it for a new one.',
  'Token is not yet valid': 'The link is not valid yet.',
  'Token subject does not match': 'The link was made for another video.',
  'Playback is restricted': 'It may not be watched on this page or with this app.',
};
/**
 * Other reasons say that something is wrong with the token, which only whoever made the link can
 * repair.
 */
const BAD_TOKEN = 'The link is not valid. Ask whoever sent it for a new one.';

const BUDGET_SPENT = 'This video is not available for now: as much of it was watched as its owner allows.';

/** The sentence for a page that plays nothing. */
export const messageForState = ({ status, reason, live }: Pick<PageData, 'status' | 'reason' | 'live'>): string => {
  if (live === 'ended') return messageFor('ended');
  if (status === '412') return WAITS[reason] ?? messageFor(status);
  if (status !== '403') return messageFor(status);
  if (reason === 'The delivery budget is spent') return BUDGET_SPENT;
  return [messageFor(403), reason && (REASONS[reason] ?? BAD_TOKEN)].join(' ').trim();
};

/** The sentence for the HTTP status of a playlist, segment or license, or for `errored`. */
export const messageFor = (status: string | number | undefined): string => MESSAGES[String(status)] ?? UNPLAYABLE;

/** Shows a sentence in place of the video. */
export const showMessage = (text: string): void => {
  for (const shown of root.querySelectorAll('video, #start, #controls, #menu, #help, #notice')) shown.remove();
  root.classList.remove('waiting');
  const message = element('message');
  message.textContent = text;
  message.hidden = false;
};
