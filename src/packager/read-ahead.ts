/**
 * Decides what to make before it is requested. Requests carry no viewer identity (shared caches must work), so
 * viewers are recognized by their pace: a cursor is a position in an asset that advances segment by segment.
 */
export interface ReadAhead<A extends { readonly id: string }> {
  /** Reports that a viewer got segment `number` of `rendition`, which has `count` segments. */
  note(asset: A, rendition: string, number: number, count: number): void;
  stop(): void;
}

export interface ReadAheadOptions<A> {
  /** Makes one segment and logs its own failures. */
  readonly make: (asset: A, rendition: string, number: number, signal: AbortSignal) => Promise<unknown>;
  /** Brings what the segments from `first` to before `end` are made from. Nobody waits for it. */
  readonly fetch?: (asset: A, first: number, end: number) => void;
  /** While this many segments are in progress, no more are started. */
  readonly maxUnderWay: number;
  /** A cursor that does not move for this long is dropped. */
  readonly idleMs: number;
}

interface Cursor {
  rendition: string;
  number: number;
  /** The cursor has advanced at least once: a viewer is playing and not seeking. */
  playing: boolean;
  readonly underWay: Map<string, AbortController>;
  /** What the segments before this one are made from has been fetched. */
  fetchedUntil: number;
  timer?: NodeJS.Timeout;
}

/** A player that buffers does not skip more segments than this. */
const MAX_STEP = 3;
/** Fetched at a time, so that a store far away is asked once in half a minute. */
const WINDOW = 8;

export const createReadAhead = <A extends { readonly id: string }>(options: ReadAheadOptions<A>): ReadAhead<A> => {
  const byAsset = new Map<string, Set<Cursor>>();
  let underWay = 0;

  const drop = (assetId: string, cursor: Cursor): void => {
    clearTimeout(cursor.timer);
    for (const controller of cursor.underWay.values()) controller.abort();
    const cursors = byAsset.get(assetId);
    cursors?.delete(cursor);
    if (cursors?.size === 0) byAsset.delete(assetId);
  };

  const begin = async (asset: A, cursor: Cursor, rendition: string, number: number): Promise<void> => {
    const controller = new AbortController();
    const name = `${rendition}/${number}`;
    cursor.underWay.set(name, controller);
    underWay++;
    try {
      await options.make(asset, rendition, number, controller.signal);
    } catch {
      // Nobody has requested it yet; a request will try again and get its own error.
    } finally {
      underWay--;
      if (cursor.underWay.get(name) === controller) cursor.underWay.delete(name);
    }
  };

  const findCursor = (cursors: Set<Cursor>, rendition: string, number: number): Cursor | undefined => {
    const near = [...cursors].filter((cursor) => number >= cursor.number && number - cursor.number <= MAX_STEP);
    // A player that changes the rendition continues at its position.
    return near.find((cursor) => cursor.rendition === rendition) ?? near.find((cursor) => cursor.playing);
  };

  return {
    note(asset, rendition, number, count) {
      const cursors = byAsset.get(asset.id) ?? new Set();
      byAsset.set(asset.id, cursors);
      let cursor = findCursor(cursors, rendition, number);
      if (!cursor) {
        // A viewer who requested only one position has probably sought on to this one.
        for (const other of [...cursors]) if (!other.playing) drop(asset.id, other);
        cursor = { rendition, number, playing: false, underWay: new Map(), fetchedUntil: 0 };
        byAsset.set(asset.id, cursors.add(cursor));
      }
      cursor.playing ||= number > cursor.number;
      cursor.rendition = rendition;
      cursor.number = number;
      const wanted = [number + 1, ...(cursor.playing ? [number + 2] : [])].filter((next) => next < count);
      const names = new Set(wanted.map((next) => `${rendition}/${next}`));
      for (const [name, controller] of cursor.underWay) {
        if (names.has(name)) continue;
        controller.abort();
        // It may take a moment to end, and be wanted again before.
        cursor.underWay.delete(name);
      }
      for (const next of wanted) {
        if (underWay < options.maxUnderWay && !cursor.underWay.has(`${rendition}/${next}`)) {
          void begin(asset, cursor, rendition, next);
        }
      }
      const first = Math.max(number + 3, cursor.fetchedUntil);
      // Begun with half a window left, before the segments that need it.
      if (cursor.playing && first < count && first <= number + WINDOW / 2) {
        cursor.fetchedUntil = Math.min(first + WINDOW, count);
        options.fetch?.(asset, first, cursor.fetchedUntil);
      }
      clearTimeout(cursor.timer);
      const idle = cursor;
      cursor.timer = setTimeout(() => drop(asset.id, idle), options.idleMs).unref();
    },
    stop() {
      for (const [assetId, cursors] of [...byAsset]) for (const cursor of [...cursors]) drop(assetId, cursor);
    },
  };
};
