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

/** The sentence for the HTTP status of a playlist, segment or license, or for `errored`. */
export const messageFor = (status: string | number | undefined): string => MESSAGES[String(status)] ?? UNPLAYABLE;

/** Shows a sentence in place of the video. */
export const showMessage = (text: string): void => {
  for (const shown of root.querySelectorAll('video, #start, #controls, #menu')) shown.remove();
  const message = element('message');
  message.textContent = text;
  message.hidden = false;
};
