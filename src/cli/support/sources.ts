import { readdir, stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { KinoraError } from '../../lib/errors.js';

/** What an asset is made from. `label` is for messages. */
export type Source =
  | { readonly kind: 'url'; readonly url: string; readonly label: string }
  | { readonly kind: 'file'; readonly path: string; readonly label: string }
  | { readonly kind: 'stdin'; readonly label: string };

/**
 * Files in a folder that can be videos or audio; others are left out, because a folder may contain
 * anything.
 */
const MEDIA = new Set(
  '.3gp .aac .aif .aiff .avi .flac .flv .m2ts .m4a .m4v .mkv .mov .mp3 .mp4 .mpeg .mpg .mts .mxf .ogg .ogv .opus .ts .wav .webm .wmv'.split(
    ' ',
  ),
);

/**
 * Turns the arguments of `asset create` into sources: `-` is standard input, and a folder stands
 * for the media files in it and below it, in order of their names.
 * @param onSkipped called for each folder with files that are left out
 * @throws KinoraError `invalid_parameters` when a file does not exist or a folder has no media
 * files
 */
export const listSources = async (
  words: readonly string[],
  onSkipped: (folder: string, count: number) => void,
): Promise<Source[]> => {
  const sources: Source[] = [];
  for (const word of words) {
    if (/^https?:\/\//i.test(word)) sources.push({ kind: 'url', url: word, label: word });
    else if (word === '-') sources.push({ kind: 'stdin', label: 'standard input' });
    else if (await isFolder(word)) sources.push(...(await filesOf(word, onSkipped)));
    else sources.push(fileSource(word));
  }
  return sources;
};

const fileSource = (path: string): Source => ({ kind: 'file', path, label: basename(path) });

const isFolder = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined))?.isDirectory() ?? false;

const filesOf = async (folder: string, onSkipped: (folder: string, count: number) => void): Promise<Source[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const media = files.filter((path) => MEDIA.has(extname(path).toLowerCase()) && !basename(path).startsWith('.'));
  if (media.length === 0) {
    throw new KinoraError('invalid_parameters', {
      messages: [`${folder} has no video or audio files; name the files to upload others.`],
    });
  }
  if (files.length > media.length) onSkipped(folder, files.length - media.length);
  return media.sort((a, b) => a.localeCompare(b, 'en', { numeric: true })).map(fileSource);
};
