import type { Row } from '../../db/schema.js';

/** The text was recognized from speech. */
export const isRecognized = (source: Row<'track'>['text_source']): boolean =>
  source === 'generated_vod' || source === 'generated_live_final';
