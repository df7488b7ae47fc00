import type { Clock } from '../../lib/clock.js';
import { KinoraError } from '../../lib/errors.js';

/** From then on a writer without a byte makes way for the next one. */
const SILENT_MS = 3000;

/** The one place of writer that an upload has. */
export interface Place {
  readonly controller: AbortController;
  readonly closed: Promise<void>;
  readonly leave: () => void;
  lastByteMs: number;
  ending: boolean;
}

/** Who writes to which upload: one at a time. */
export interface WriterPlaces {
  find(uploadId: string): Place | undefined;
  /** Always followed by `leave`. @throws KinoraError `upload_busy` while another one writes */
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
