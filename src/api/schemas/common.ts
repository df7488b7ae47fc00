import { Type } from 'typebox';

/** Of every list in a body. */
export const MAX_ENTRIES = 100;

/** Free text of the caller, at most 255 code points. */
export const passthrough = () => Type.String({ maxLength: 255 });
