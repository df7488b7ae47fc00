import { readFile, rm } from 'node:fs/promises';
import type { SourceFacts } from '../../media/source-facts.js';
import type { SourceIndex } from '../../media/source-index.js';
import { decodeSourceIndex, encodeSourceIndex } from '../../media/source-index-codec.js';
import { type MediaPool, mediaPriority } from '../../pool/media-pool.js';
import type { BlobStore } from '../../storage/blob-store.js';
import { indexKey, sourceKey } from '../../storage/keys.js';
import { temporaryName } from './temporary-name.js';
