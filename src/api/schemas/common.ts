import { Type } from 'typebox';

/** Maximum length of every list in a body. */
export const MAX_ENTRIES = 100;

const PASSTHROUGH =
  'Text of your own, such as an ID in your system, of at most 255 characters. Kinora returns it unchanged';

/** Free text from the caller, at most 255 code points. */
export const passthrough = (more = '') => Type.String({ maxLength: 255, description: `${PASSTHROUGH}${more}` });
