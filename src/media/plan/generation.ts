/**
 * Part of the URL and of the cache key of everything that is made of a plan. Together with the plan it determines the bytes:
 * raise it with every change that makes other bytes of a plan that exists. That is another encoder build (`node-av`), since an
 * init segment of one build must never meet segments of another, other settings in `engine/`, or other boxes.
 */
export const GENERATION = 2;
