import type { SegmentStore } from '../../cache/segment-store.js';
import type { IngestRow } from '../../db/tables/assets/asset-ingest.js';
import type { IngestState } from '../../domain/assets/ingest-state.js';
import type { RecordingCutter } from '../../domain/assets/recording-cutter.js';
import type { queues } from '../../domain/queues.js';
import type { TrackState } from '../../domain/tracks/track-state.js';
import type { FileContext } from '../../early/file/context.js';
import type { GuessedIndex } from '../../early/file/guess-index.js';
import type { EarlySources } from '../../early/sources.js';
import type { Clock } from '../../lib/clock.js';
import type { Limiter } from '../../lib/limiter.js';
import type { PendingWork } from '../../lib/pending-work.js';
import type { SourceFetcher } from '../../net/fetch-source.js';
import type { ImageProducer } from '../../packager/image-producer.js';
import type { SegmentProducer } from '../../packager/segment-producer.js';
import type { TextTracks } from '../../packager/text-tracks.js';
import type { MediaPool } from '../../pool/media-pool.js';
import type { LinkedSources, RangeBlobStore } from '../../storage/blob-store.js';
import type { Logger } from '../../telemetry/logger.js';

export interface IngestDeps {
  readonly state: IngestState;
  readonly tracks: TrackState;
  readonly blobs: RangeBlobStore;
  readonly texts: TextTracks;
  readonly cache: SegmentStore;
  readonly fetcher: SourceFetcher;
  /** Absent when inputs may not name objects of buckets. */
  readonly linked?: LinkedSources;
  /** For sources that are not downloaded. */
  readonly maxSourceBytes: number;
  /** For clips of broadcasts. */
  readonly live: Pick<RecordingCutter, 'copyRange'>;
  readonly earlySources: EarlySources;
  /** Whether assets play before their source is stored, where that is possible. */
  readonly playsEarly: boolean;
  /** Whether streams of main files become tracks when the request does not say. */
  readonly usesEmbeddedTracks: boolean;
  readonly pool: Pick<MediaPool, 'run' | 'prepare'>;
  readonly producer: SegmentProducer;
  readonly images: Pick<ImageProducer, 'warmPoster' | 'warmStoryboard'>;
  /** A directory that media processes may write to. */
  readonly temporaryDir: string;
  /** Media processes that one ingest may use at the same time. */
  readonly parallel: number;
  readonly logger: Logger;
  readonly clock: Clock;
  /** The queue that the run belongs to. */
  readonly queue: typeof queues.ingest | typeof queues.transcode;
  /** Limits everything after the download. */
  readonly limit: Limiter;
}

/** One run of the ingest of an asset. */
export interface IngestContext extends IngestDeps, Omit<FileContext, 'blobs' | 'pool'> {
  readonly assetId: string;
  readonly row: IngestRow;
}

/** A run whose source is stored. */
export interface PrepareContext extends IngestContext {
  /** Of what is known about the source; they go on beside the next steps until there is a plan. */
  readonly writes: PendingWork;
  /** Of a source that is probed in this run. */
  readonly guess?: Promise<GuessedIndex | undefined> | undefined;
}
