import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Recording, type RecordingOptions } from '#kinora/live/recording/recording.js';
import { buildAvcc } from '#kinora/media/codecs/avc.js';
import type { BlobStore, LocalWrite } from '#kinora/storage/blob-store.js';
import { DiskBlobStore } from '#kinora/storage/disk/disk-blob-store.js';
import { quietLogger } from '../../support/logger.js';

const SECONDS = 20 * 60;
const FRAMES_PER_SECOND = 30;
/** 320 × 176, Baseline. */
const AVCC = buildAvcc([Buffer.from('6742c01eda0505e4', 'hex')], [Buffer.from('68ce3c80', 'hex')]);
const AAC_LC_48K_STEREO = Buffer.from('1190', 'hex');

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'kinora-long-'));
});
afterAll(() => rm(root, { recursive: true }));

/** A disk that counts what is read of unfinished files. */
class CountingStore {
  reads = 0;
  write: LocalWrite | undefined;
  readonly blobs: BlobStore;

  constructor(dir: string) {
    const disk = new DiskBlobStore(dir);
    this.blobs = Object.assign(Object.create(disk) as BlobStore, {
      stat: (key: string) => disk.stat(key),
      read: (key: string) => disk.read(key),
      resumeWrite: async (key: string) => {
        const write = await disk.resumeWrite(key);
        const read = write.read.bind(write);
        write.read = (offset, length) => {
          this.reads += 1;
          return read(offset, length);
        };
        this.write = write;
        return write;
      },
    });
  }

  /** Everything that a recording has passed on is written. */
  async settled(): Promise<void> {
    for (let same = 0, last = -1; same < 4; last = this.write!.offsetBytes) {
      await this.write!.flush();
      await nextTurn();
      same = this.write!.offsetBytes === last ? same + 1 : 0;
    }
  }
}

it('is opened and finished with few reads, and keeps little of old parts in memory', async () => {
  let ms = 0;
  const store = new CountingStore(root);
  const options: RecordingOptions = {
    blobs: store.blobs,
    key: 'assets/a/source',
    assetId: 'a',
    latencyMode: 'low',
    firstSequence: 0,
    firstDiscontinuity: 0,
    clock: { now: () => new Date(1_700_000_000_000 + ms), monotonicMs: () => ms },
    logger: quietLogger,
    events: {
      playable: () => undefined,
      forcedCut: () => undefined,
      problem: () => undefined,
      failed: (failure) => expect.fail(failure),
    },
  };
  const recording = await Recording.open(options);
  recording.beginSession(0, 'content');
  recording.write({ kind: 'video-config', config: { codec: 'avc', record: AVCC } });
  recording.write({ kind: 'audio-config', config: { codec: 'aac', record: AAC_LC_48K_STEREO } });
  let audioFrames = 0;
  for (let frame = 0; frame < SECONDS * FRAMES_PER_SECOND; frame++) {
    ms = Math.round((frame * 1000) / FRAMES_PER_SECOND);
    const data = Buffer.alloc(40, frame);
    recording.write({ kind: 'video', dtsMs: ms, compositionMs: 0, isKey: frame % 60 === 0, data });
    for (; (audioFrames * 1024) / 48 <= ms; audioFrames++)
      recording.write({
        kind: 'audio',
        dtsMs: Math.round((audioFrames * 1024) / 48),
        data: Buffer.alloc(6, audioFrames),
      });
    if (frame % 60 === 59) await store.settled();
  }
  // What playlists no longer list.
  const listed = (of: Recording): number[] =>
    of.trackNames.map((name) => of.track(name)!.segments.filter(({ parts }) => parts.length > 0).length);
  for (const count of listed(recording)) expect(count).toBeLessThan(20);
  await recording.suspend();

  const parts = 2 * 3 * SECONDS;
  store.reads = 0;
  const again = await Recording.open(options);
  expect(again.durationSeconds).toBeGreaterThan(SECONDS - 0.1);
  expect(again.track('270p')!.segments).toHaveLength(SECONDS / 2);
  for (const count of listed(again)) expect(count).toBeLessThan(20);
  expect(store.reads).toBeLessThan(parts / 50);
  store.reads = 0;
  const finished = await again.finish();
  expect(finished!.durationSeconds).toBeGreaterThan(SECONDS - 0.1);
  expect(store.reads).toBeLessThan(parts / 50);
});
