import { type FileHandle, open } from 'node:fs/promises';
import { afterAll, expect, test } from 'vitest';
import { findMoov, type Mp4Streams, readMp4SampleTables } from '#kinora/media/mp4-sample-tables.js';
import type { SourceIndex, StreamIndex } from '#kinora/media/source-index.js';
import { type EncodedName, fixture } from '../support/fixtures.js';
import { indexFile, probeFile } from '../support/video-run.js';

const files: FileHandle[] = [];
afterAll(() => Promise.all(files.map((file) => file.close())));

const readTables = async (path: string, streams: Mp4Streams): Promise<SourceIndex | undefined> => {
  const file = await open(path);
  files.push(file);
  const moov = await findMoov(
    async (offset, length) => {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
      return buffer.subarray(0, bytesRead);
    },
    (await file.stat()).size,
  );
  return moov && readMp4SampleTables(moov, streams);
};

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
