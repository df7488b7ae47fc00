import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { indexMp4 } from '#kinora/engine/analysis/index-mp4.js';
import type { StreamIndex } from '#kinora/media/source/source-index.js';
import { decodeSourceIndex } from '#kinora/media/source/source-index-codec.js';
import type { IndexJob } from '#kinora/pool/protocol.js';
import { type EncodedName, fixture } from '../support/media/fixtures.js';
import { indexFile, probeFile, withFolder } from '../support/media/video-run.js';

const MOV = 'mov,mp4,m4a,3gp,3g2,mj2';

const readTables = async (path: string, streams: Omit<IndexJob, 'kind' | 'source' | 'outPath'>) =>
  withFolder(async (folder) => {
    const outPath = join(folder, 'index');
    const found = await indexMp4({ kind: 'index', source: { path, formatName: MOV }, ...streams, outPath });
    return found && decodeSourceIndex(readFileSync(outPath));
  });

const plain = (stream: StreamIndex | undefined) =>
  stream && {
    pts: [...stream.pts],
    key: [...stream.key],
    size: [...stream.size],
    position: [...stream.position],
    lastDuration: stream.lastDuration,
  };

const compared: EncodedName[] = [
  'h264-aac.mp4',
  'h264-index-at-end.mov',
  'hevc-aac.mp4',
  'av1-aac.mp4',
  'h264-aac-44100-mono.mp4',
  'h264-aac-22050.mp4',
  'audio-longer.mp4',
  'audio-shorter.mp4',
  'video-late.mp4',
  'video-only.mp4',
  'audio-only.m4a',
  'fps-23.976.mp4',
  'vfr.mp4',
  'open-gop.mp4',
  'portrait-270.mov',
];

test.each(compared)('%s: the sample tables say what FFmpeg demuxes', async (name) => {
  const path = await fixture(name);
  const facts = await probeFile(path);
  const tables = await readTables(path, {
    ...(facts.video && { videoStreamIndex: facts.video.streamIndex }),
    ...(facts.audio[0] && { audioStreamIndex: facts.audio[0].streamIndex }),
  });
  const demuxed = indexFile(path, facts);
  expect(plain(tables?.video)).toEqual(plain(demuxed.video));
  expect(plain(tables?.audio)).toEqual(plain(demuxed.audio));
});

test.each(['h264-pcm-mono.mov', 'prores-pcm.mov'] as const)('%s: PCM spans the same time', async (name) => {
  const path = await fixture(name);
  const facts = await probeFile(path);
  const tables = await readTables(path, { audioStreamIndex: facts.audio[0]!.streamIndex });
  const demuxed = indexFile(path, facts).audio!;
  const span = ({ pts, lastDuration, size }: StreamIndex) => ({
    start: pts[0],
    end: pts.at(-1)! + lastDuration,
    bytes: size.reduce((sum, bytes) => sum + bytes, 0),
  });
  expect(span(tables!.audio!)).toEqual(span(demuxed));
});

test.each(['h264-fragmented.mp4', 'edit-list.mp4'] as const)('%s has to be demuxed', async (name) => {
  const path = await fixture(name);
  expect(await readTables(path, { videoStreamIndex: 0 })).toBeUndefined();
});

test('a file of another kind has no tables', async () => {
  expect(await readTables(await fixture('h264-mp3.mkv'), { videoStreamIndex: 0 })).toBeUndefined();
  expect(await readTables(await fixture('empty.mp4'), { videoStreamIndex: 0 })).toBeUndefined();
  expect(await readTables(await fixture('truncated-without-index.mov'), { videoStreamIndex: 0 })).toBeUndefined();
});
