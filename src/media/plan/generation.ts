/**
 * Part of the URL and of the cache key of everything that is made from a plan. Together with the
 * plan it determines the bytes. Raise it with every change that produces other bytes for an
 * existing plan: another encoder build (`node-av`), since an init segment of one build must never
 * be combined with segments of another, other settings in `engine/`, or other boxes.
 */
export const GENERATION = 4;
