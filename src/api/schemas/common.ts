import { Type } from 'typebox';

/** Maximum length of every list in a body. */
export const MAX_ENTRIES = 100;

/** Free text from the caller, at most 255 code points. */
export const passthrough = () => Type.String({ maxLength: 255 });
