import { writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { findFirstTracks, findMoov, readMp4SampleTables } from '../../media/mp4/sample-tables.js';
import type { SourceIndex } from '../../media/source/source-index.js';
import { encodeSourceIndex } from '../../media/source/source-index-codec.js';
import type { FirstTracks, FirstTracksJob, IndexJob, MediaResults } from '../../pool/protocol.js';
import { rangeReader } from '../ffmpeg/staged-ranges.js';

/**
 * Indexes an MP4 or MOV file from its sample tables, without reading the whole file. Returns
 * undefined and writes nothing when the tables may differ from what FFmpeg's demuxer reports:
 * fragments, damage, complicated edits. This runs in a media process, although it doesn't use
 * FFmpeg, because the tables of a hostile file can take hundreds of megabytes.
 */
export const indexMp4 = async (job: IndexJob): Promise<MediaResults['index'] | undefined> => {
  if (!job.source.formatName?.startsWith('mov')) return undefined;
  const file = await open(job.source.path);
  try {
    const { size } = await file.stat();
    const moov = await findMoov(rangeReader(file, job.source), size);
    const index = moov && readMp4SampleTables(moov, job);
    if (!index || !liesWithin(index, size)) return undefined;
    if (job.unmarkedStart && index.video) index.video.key[0] = 1;
    writeFileSync(job.outPath, encodeSourceIndex(index));
    return { packets: (index.video?.pts.length ?? 0) + (index.audio?.pts.length ?? 0) };
  } finally {
    await file.close();
  }
};

/**
 * The same for the first tracks of a file that has not been probed. The result is empty where
 * `indexMp4` returns undefined.
 */
export const indexFirstTracks = async ({ source, outPath }: FirstTracksJob): Promise<FirstTracks> => {
  const file = await open(source.path);
  try {
    const { size } = await file.stat();
    const moov = await findMoov(rangeReader(file, source), size);
    const tracks = moov && findFirstTracks(moov);
    const streams = { videoStreamIndex: tracks?.video?.streamIndex, audioStreamIndex: tracks?.audio?.streamIndex };
    const index = tracks && readMp4SampleTables(moov, streams);
    if (!index || !liesWithin(index, size)) return {};
    writeFileSync(outPath, encodeSourceIndex(index));
    return tracks;
  } finally {
    await file.close();
  }
};

/** False for a truncated file: its tables list samples beyond the end. */
const liesWithin = (index: SourceIndex, sizeBytes: number): boolean =>
  [index.video, index.audio].every(
    (stream) => !stream?.position.some((position, packet) => position + stream.size[packet]! > sizeBytes),
  );
