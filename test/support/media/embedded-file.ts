import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const SUBRIP = `1
00:00:01,000 --> 00:00:02,500
<i>Bonjour</i> & salut

2
00:00:05,000 --> 00:00:07,000
Deux
lignes
`;

const CHAPTERS = `;FFMETADATA1
[CHAPTER]
TIMEBASE=1/1000
START=0
END=4000
title=Début: one
[CHAPTER]
TIMEBASE=1/1000
START=4000
END=8000
title=Stream #2: the rest
`;

/**
 * Segments of a picture-based stream (PGS): a composition without pictures, and its end, at 1 and
 * at 2 seconds.
 */
const makeImages = (): Buffer =>
  Buffer.concat(
    [90_000, 180_000].flatMap((time) =>
      [[0x16, Buffer.from([1, 64, 0, 180, 0x10, 0, 0, 0x80, 0, 0, 0])] as const, [0x80, Buffer.alloc(0)] as const].map(
        ([type, payload]) => {
          const header = Buffer.alloc(13);
          header.write('PG');
          header.writeUInt32BE(time, 2);
          header[10] = type;
          header.writeUInt16BE(payload.length, 11);
          return Buffer.concat([header, payload]);
        },
      ),
    ),
  );

export interface EmbeddedStream {
  /** A name of FFmpeg's encoders; `copy` for pictures (PGS). */
  readonly codec: string;
  readonly language?: string;
  readonly title?: string;
  /** Such as `forced`. */
  readonly disposition?: string;
}

/**
 * A video of 8 seconds with two chapters in `folder`; `name` says the format. Its audio streams are
 * tones of 400 Hz, 600 Hz, 800 Hz …, and its text streams have the cues of `SUBRIP`.
 */
export const makeEmbeddedFile = async (
  folder: string,
  name: string,
  { audio, text }: { readonly audio: readonly EmbeddedStream[]; readonly text: readonly EmbeddedStream[] },
): Promise<string> => {
  const [subrip, chapters, path] = [join(folder, 'text.srt'), join(folder, 'chapters.txt'), join(folder, name)];
  await writeFile(subrip, SUBRIP);
  await writeFile(chapters, CHAPTERS);
  const images = join(folder, 'pictures.sup');
  await writeFile(images, makeImages());
  const lavfi = (source: string): string[] => ['-f', 'lavfi', '-i', source];
  const describe = (kind: 'a' | 's', streams: readonly EmbeddedStream[]): string[] =>
    streams.flatMap(({ codec, language, title, disposition = '0' }, at) => [
      ...[`-c:${kind}:${at}`, codec, `-disposition:${kind}:${at}`, disposition],
      ...(language ? [`-metadata:s:${kind}:${at}`, `language=${language}`] : []),
      ...(title ? [`-metadata:s:${kind}:${at}`, `title=${title}`] : []),
    ]);
  const textAt = audio.length + 1;
  await run('ffmpeg', [
    ...['-v', 'error', '-y', ...lavfi('testsrc=s=320x180:r=25:d=8')],
    ...audio.flatMap((_, at) => lavfi(`sine=f=${400 + 200 * at}:r=48000:d=8`)),
    ...['-i', subrip, '-f', 'ffmetadata', '-i', chapters, '-f', 'sup', '-i', images, '-map', '0:v'],
    ...audio.flatMap((_, at) => ['-map', `${at + 1}:a`]),
    ...text.flatMap(({ codec }) => ['-map', `${codec === 'copy' ? textAt + 2 : textAt}:s`]),
    ...[
      '-map_chapters',
      String(textAt + 1),
      '-c:v',
      'libx264',
      '-pix_fmt',
      'yuv420p',
      '-g',
      '50',
      '-preset',
      'ultrafast',
    ],
    ...[...describe('a', audio), ...describe('s', text), path],
  ]);
  return path;
};
