import { type ByteRange, type ByteRanges, mergeRanges } from '../lib/byte-ranges.js';
import { KinoraError } from '../lib/errors.js';
import {
  BLOCK_BYTES,
  type BlobInfo,
  type BlobWrite,
  type LocalBlob,
  type Mismatch,
  type RangeOrigin,
  type RangeSource,
  type StagedFile,
} from './blob-store.js';
import { BlockFetcher } from './block-fetcher.js';

interface RangeSourceOptions {
  readonly staged: StagedFile;
  readonly version: number;
  readonly write: BlobWrite;
  readonly origin: RangeOrigin;
  readonly onMismatch: (mismatch: Mismatch) => Promise<void>;
  readonly onEnded: () => void;
}

/** Readers got the source before it was ended, but not all that they need of it. */
export const endedSource = (): KinoraError =>
  new KinoraError('unavailable', {
    details: { reason: 'the source is not stored yet and can no longer be read by ranges' },
  });

/** An unfinished file with its readers; see the contract for the order of calls. */
export class StagedRangeSource implements RangeSource {
  readonly target: BlobWrite;
  private readonly stopped = new AbortController();
  private readonly leases = new Set<Promise<void>>();
  private readonly blocks: BlockFetcher;
  private opening: ByteRange[] = [];
  private ended: Promise<unknown> | undefined;

  constructor(private readonly options: RangeSourceOptions) {
    const { staged, origin, write, onMismatch } = options;
    this.blocks = new BlockFetcher({
      blockBytes: BLOCK_BYTES,
      origin,
      signal: this.stopped.signal,
      readableBytes: () => staged.readableBytes,
      // What the download has stored is never replaced.
      begin: () => staged.flush(),
      put: (offset, chunk) => staged.put(offset, chunk),
    });
    this.target = new ComparedWrite(this, this.blocks, { staged, write, onMismatch });
  }

  get sizeBytes(): number {
    return this.options.origin.sizeBytes;
  }

  get fetchedBytes(): number {
    return this.blocks.fetchedBytes;
  }

  keepOpening(ranges: ByteRanges): void {
    this.opening = mergeRanges([...this.opening, ...ranges]);
  }

  /** Undefined when the source has ended; the blob may be stored by then. */
  async open(needed: ByteRanges): Promise<LocalBlob | undefined> {
    if (this.ended) {
      await this.untilEnded();
      return undefined;
    }
    const ranges = this.blocks.widen([...this.opening, ...needed]);
    let resolve!: () => void;
    const lease = new Promise<void>((resolveLease) => {
      resolve = resolveLease;
    });
    this.leases.add(lease);
    const release = async (): Promise<void> => {
      this.leases.delete(lease);
      resolve();
    };
    try {
      await this.blocks.load(ranges);
      const { staged, version } = this.options;
      return { path: staged.path, staged: { ranges, version }, release };
    } catch (error) {
      await release();
      throw this.ended ? endedSource() : error;
    }
  }

  commit(): Promise<BlobInfo> {
    const { staged, write } = this.options;
    const commit = () => this.endWith(() => write.commit(), !staged.outlivesCommit);
    return write.prepareCommit ? write.prepareCommit().then(commit) : commit();
  }

  end<T>(finish: () => Promise<T>): Promise<T> {
    return this.endWith(finish, true);
  }

  close(): Promise<void> {
    return this.end(async () => undefined);
  }

  get hasEnded(): boolean {
    return this.ended !== undefined;
  }

  /** Resolves at once before the end begins. */
  async untilEnded(): Promise<void> {
    await this.ended?.catch(() => undefined);
  }

  /** Readers that arrive before `finish` has ended wait until then. */
  private endWith<T>(finish: () => Promise<T>, waitsForReaders: boolean): Promise<T> {
    if (this.ended) return this.untilEnded().then(finish);
    const { staged, onEnded } = this.options;
    this.stopped.abort();
    const noReaders = Promise.allSettled(this.leases);
    const ending = (waitsForReaders ? noReaders : Promise.resolve()).then(() => this.blocks.untilIdle()).then(finish);
    this.ended = ending.finally(onEnded);
    Promise.allSettled([this.ended, noReaders])
      .then(() => staged.release())
      .catch(() => undefined);
    return ending;
  }
}

/** The download of the whole file, compared with the parts that were fetched before it. */
class ComparedWrite implements BlobWrite {
  constructor(
    private readonly source: StagedRangeSource,
    private readonly blocks: BlockFetcher,
    private readonly options: Pick<RangeSourceOptions, 'staged' | 'write' | 'onMismatch'>,
  ) {}

  get offsetBytes(): number {
    return this.options.write.offsetBytes;
  }

  async write(chunk: Uint8Array): Promise<void> {
    const { write, onMismatch } = this.options;
    // A part that is fetched between the comparison and the write would not be compared.
    const result = await this.blocks.pauseFor(async () => {
      if (this.source.hasEnded) return 'ended';
      if (await this.differs(chunk)) return 'differs';
      await write.write(chunk);
      return 'written';
    });
    if (result === 'written') return;
    if (result === 'differs') await onMismatch('differs');
    // Nobody may read other bytes in its place any more.
    await this.source.untilEnded();
    await write.write(chunk);
  }

  async restart(): Promise<void> {
    const { write, onMismatch } = this.options;
    if (!this.source.hasEnded) await onMismatch('restarts');
    await this.source.end(() => write.restart());
  }

  commit(): Promise<BlobInfo> {
    return this.source.commit();
  }

  suspend(): Promise<void> {
    return this.source.end(() => this.options.write.suspend());
  }

  discard(): Promise<void> {
    return this.source.end(() => this.options.write.discard());
  }

  sync(): Promise<void> {
    return this.options.write.sync();
  }

  read(offset: number, length: number): Promise<Uint8Array> {
    return this.options.write.read(offset, length);
  }

  stage(sizeBytes: number): Promise<StagedFile> {
    return this.options.write.stage(sizeBytes);
  }

  /** Whether `chunk`, the next bytes of the download, differs from a part that was fetched. */
  private async differs(chunk: Uint8Array): Promise<boolean> {
    const start = this.offsetBytes;
    const end = start + chunk.length;
    for (let block = Math.floor(start / BLOCK_BYTES); block * BLOCK_BYTES < end; block += 1) {
      if (!this.blocks.isFetched(block)) continue;
      const from = Math.max(start, block * BLOCK_BYTES);
      const until = Math.min(end, (block + 1) * BLOCK_BYTES);
      const part = await this.options.staged.read(from, until - from);
      if (Buffer.compare(part, chunk.subarray(from - start, until - start)) !== 0) return true;
    }
    return false;
  }
}
