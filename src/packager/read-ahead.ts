interface Asset {
  readonly id: string;
}

export interface ReadAheadOptions<A> {
  /** Produces one segment and logs its own failures. */
  readonly produce: (asset: A, rendition: string, number: number, signal: AbortSignal) => Promise<unknown>;
  /** Fetches the source of the segments from `first` to before `end`. Nobody waits for it. */
  readonly fetch?: ((asset: A, first: number, end: number) => void) | undefined;
  /** While this many segments are in progress, no more are started. */
  readonly maxRunning: number;
  /** A cursor that does not move for this long is dropped. */
  readonly idleMs: number;
}

interface Cursor {
  rendition: string;
  number: number;
  /** The cursor has advanced at least once: a viewer is playing and not seeking. */
  playing: boolean;
  readonly running: Map<string, AbortController>;
  /** The source of the segments before this one has been fetched. */
  fetchedUntil: number;
  timer?: NodeJS.Timeout;
}

/** A player that buffers does not skip more segments than this. */
const MAX_STEP = 3;
/** Fetched at a time, so that a remote store is asked once in half a minute. */
const WINDOW = 8;

/**
 * Decides what to produce before it is requested. Requests carry no viewer identity (shared caches
 * must work), so viewers are recognized by their pace: a cursor is a position in an asset that
 * advances segment by segment.
 */
export class ReadAhead<A extends Asset> {
  private readonly cursorsByAsset = new Map<string, Set<Cursor>>();
  private running = 0;

  constructor(private readonly options: ReadAheadOptions<A>) {}

  /** Reports that a viewer got segment `number` of `rendition`, which has `count` segments. */
  note(asset: A, rendition: string, number: number, count: number): void {
    const cursor = this.moveCursor(asset.id, rendition, number);
    const next = [number + 1, ...(cursor.playing ? [number + 2] : [])].filter((each) => each < count);
    this.abortOthers(cursor, next);
    for (const each of next) {
      if (this.running < this.options.maxRunning && !cursor.running.has(`${rendition}/${each}`)) {
        void this.start(asset, cursor, each);
      }
    }
    const first = Math.max(number + 3, cursor.fetchedUntil);
    // Started with half a window left, before the segments that need it.
    if (cursor.playing && first < count && first <= number + WINDOW / 2) {
      cursor.fetchedUntil = Math.min(first + WINDOW, count);
      this.options.fetch?.(asset, first, cursor.fetchedUntil);
    }
    clearTimeout(cursor.timer);
    cursor.timer = setTimeout(() => this.drop(asset.id, cursor), this.options.idleMs).unref();
  }

  stop(): void {
    for (const [assetId, cursors] of [...this.cursorsByAsset])
      for (const cursor of [...cursors]) this.drop(assetId, cursor);
  }

  /** The viewer's cursor, moved to the segment, or a new one. */
  private moveCursor(assetId: string, rendition: string, number: number): Cursor {
    const cursors = this.cursorsByAsset.get(assetId) ?? new Set();
    this.cursorsByAsset.set(assetId, cursors);
    let cursor = findCursor(cursors, rendition, number);
    if (!cursor) {
      // A viewer who requested only one position has probably sought on to this one.
      for (const other of [...cursors]) if (!other.playing) this.drop(assetId, other);
      cursor = { rendition, number, playing: false, running: new Map(), fetchedUntil: 0 };
      this.cursorsByAsset.set(assetId, cursors.add(cursor));
    }
    cursor.playing ||= number > cursor.number;
    cursor.rendition = rendition;
    cursor.number = number;
    return cursor;
  }

  private abortOthers(cursor: Cursor, numbers: readonly number[]): void {
    const names = new Set(numbers.map((number) => `${cursor.rendition}/${number}`));
    for (const [name, controller] of cursor.running) {
      if (names.has(name)) continue;
      controller.abort();
      // It may take a moment to end, and be needed again before.
      cursor.running.delete(name);
    }
  }

  private async start(asset: A, cursor: Cursor, number: number): Promise<void> {
    const { rendition } = cursor;
    const controller = new AbortController();
    const name = `${rendition}/${number}`;
    cursor.running.set(name, controller);
    this.running++;
    try {
      await this.options.produce(asset, rendition, number, controller.signal);
    } catch {
      // Nobody has requested it yet; a request will try again and get its own error.
    } finally {
      this.running--;
      if (cursor.running.get(name) === controller) cursor.running.delete(name);
    }
  }

  private drop(assetId: string, cursor: Cursor): void {
    clearTimeout(cursor.timer);
    for (const controller of cursor.running.values()) controller.abort();
    const cursors = this.cursorsByAsset.get(assetId);
    cursors?.delete(cursor);
    if (cursors?.size === 0) this.cursorsByAsset.delete(assetId);
  }
}

const findCursor = (cursors: ReadonlySet<Cursor>, rendition: string, number: number): Cursor | undefined => {
  const near = [...cursors].filter((cursor) => number >= cursor.number && number - cursor.number <= MAX_STEP);
  // A player that changes the rendition continues at its position.
  return near.find((cursor) => cursor.rendition === rendition) ?? near.find((cursor) => cursor.playing);
};
