import { join } from 'node:path';
import { SegmentStore } from '../cache/segment-store.js';
import { MediaPool } from '../pool/media-pool.js';
import { localModelPath } from '../speech/create-transcriber.js';
import { DiskSpace } from '../storage/disk/disk-space.js';
import { RangeStore } from '../storage/range-store.js';
import { openBlobs } from './open-blobs.js';
import type { Base, MediaParts } from './parts.js';

/** Opens the files and the cache, and starts the media processes. */
export const startMedia = async (base: Base): Promise<MediaParts> => {
  const { config, logger, clock, metrics, phases } = base;
  const blobDir = join(config.dataDir, 'blobs');
  const cacheDir = join(config.dataDir, 'cache');
  const temporaryDir = join(cacheDir, 'tmp');
  const opened = await openBlobs(base, blobDir);
  const blobs = new RangeStore(opened.blobs);
  const diskSpace = new DiskSpace({ dir: blobDir, logger });
  phases.push({ name: 'disk space', end: () => diskSpace.stop() });
  const cache = await SegmentStore.open({
    dir: cacheDir,
    maxBytes: config.cacheSizeBytes,
    hotBytes: config.hotSizeBytes,
    logger,
    clock,
  });
  phases.push({ name: 'segment store', end: () => cache.stop() });
  const modelPath = localModelPath(config);
  const pool = await MediaPool.start({
    size: config.mediaProcesses,
    readDirs: [blobDir],
    readFiles: modelPath === undefined ? undefined : [modelPath],
    writeDir: temporaryDir,
    memoryBytes: config.mediaMemoryBytes,
    logger,
    clock,
    metrics,
    ...base.mediaProcesses,
  });
  phases.push({ name: 'media processes', end: () => pool.stop() });
  return { blobs, linked: opened.linked, diskSpace, cache, pool, temporaryDir };
};
