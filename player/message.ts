import { element, root } from './page-data.js';

const MESSAGES: Readonly<Record<string, string>> = {
  400: 'The address of this video contains an invalid setting.',
  403: 'You do not have access to this video.',
  404: 'This video does not exist.',
  412: 'This video is being prepared. It appears here as soon as it is ready.',
  errored: 'This video could not be processed.',
};
export const UNPLAYABLE = 'The video could not be played.';
export const UNSUPPORTED = 'This browser cannot play the video.';

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

/** The sentence for a page that was refused. */
export const messageForRefusal = (reason: string): string =>
  [messageFor(403), reason && (REASONS[reason] ?? BAD_TOKEN)].join(' ').trim();

/** The sentence for the HTTP status of a playlist, segment or license, or for `errored`. */
export const messageFor = (status: string | number | undefined): string => MESSAGES[String(status)] ?? UNPLAYABLE;

/** Shows a sentence in place of the video. */
export const showMessage = (text: string): void => {
  for (const shown of root.querySelectorAll('video, #start, #controls, #menu, #help')) shown.remove();
  const message = element('message');
  message.textContent = text;
  message.hidden = false;
};
