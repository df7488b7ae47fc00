/**
 * The `input_position` of tracks that a clip has from its source: they belong to the first input.
 */
export const COPIED_POSITION = 0;
