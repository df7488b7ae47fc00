import type { Clock } from '../../lib/clock.js';
import { KinoraError } from '../../lib/errors.js';

/** A writer that gets no bytes for this long is replaced by the next one. */
export const SILENT_MS = 3000;

/** An upload's only slot for a writer. */
export interface Place {
  readonly controller: AbortController;
  readonly closed: Promise<void>;
  readonly leave: () => void;
  lastByteMs: number;
  ending: boolean;
}

/** Allows one writer per upload. */
export interface WriterPlaces {
  find(uploadId: string): Place | undefined;
  /**
   * `leave` must always follow.
   * @throws KinoraError `upload_busy` while another one writes
   */
  take(uploadId: string): Promise<Place>;
}

export const createWriterPlaces = (clock: Clock): WriterPlaces => {
  const places = new Map<string, Place>();
  const take = async (uploadId: string): Promise<Place> => {
    for (;;) {
      const other = places.get(uploadId);
      if (!other) break;
      if (clock.monotonicMs() - other.lastByteMs > SILENT_MS) other.controller.abort(new KinoraError('upload_busy'));
      else if (!other.ending) throw new KinoraError('upload_busy');
      await other.closed;
    }
    let leave!: () => void;
    const closed = new Promise<void>((resolve) => {
      leave = () => {
        places.delete(uploadId);
        resolve();
      };
    });
    const place = { controller: new AbortController(), closed, leave, lastByteMs: clock.monotonicMs(), ending: false };
    places.set(uploadId, place);
    return place;
  };

  return { find: (uploadId) => places.get(uploadId), take };
};
