import { Type } from 'typebox';

/** Free text of the caller, at most 255 code points. */
export const passthrough = () => Type.String({ maxLength: 255 });
