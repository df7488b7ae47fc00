import type { Row } from '../../db/schema.js';

/** The text was recognized from speech. */
export const isRecognized = (source: Row<'track'>['text_source']): boolean =>
  source === 'generated_vod' || source === 'generated_live_final';

type Sourced = Pick<Row<'track'>, 'text_source'> & Partial<Pick<Row<'track'>, 'status'>>;

/**
 * Without what was recognized while live, once what was recognized in the whole recording is ready.
 * Tracks without a status are ready.
 */
export const withoutDrafts = <T extends Sourced>(tracks: readonly T[]): readonly T[] =>
  tracks.some(({ text_source, status = 'ready' }) => text_source === 'generated_live_final' && status === 'ready')
    ? tracks.filter(({ text_source }) => text_source !== 'generated_live')
    : tracks;
