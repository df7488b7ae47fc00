/** From a URL to a ready asset. */
export const INGEST_QUEUE = 'ingest';
/** The same for assets that take long, because they need a mezzanine or are read as a whole: they must not hold up the others. */
export const TRANSCODE_QUEUE = 'transcode';
