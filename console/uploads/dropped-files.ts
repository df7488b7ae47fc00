/** Names that the containers of video and audio have; browsers don't know the types of some. */
const MEDIA_NAME =
  /\.(mp4|m4v|mov|mkv|webm|avi|mts|m2ts|ts|mpg|mpeg|m2v|mpv|vob|wmv|asf|flv|f4v|ogv|ogm|3gp|3g2|mxf|dv|gxf|rm|rmvb|y4m|nut|h264|264|hevc|h265|265|m4a|m4b|mp3|mp2|wav|w64|flac|aac|ac3|eac3|ogg|oga|opus|mka|wma|aif|aiff|caf|amr)$/i;

/**
 * Whether a file looks like video or audio. Folders hold other things too, and people choose the
 * wrong file.
 */
export const isMedia = ({ type, name }: Pick<File, 'type' | 'name'>): boolean =>
  !name.startsWith('.') && (/^(video|audio)\//.test(type) || MEDIA_NAME.test(name));

const readFolder = async (folder: FileSystemDirectoryEntry): Promise<File[]> => {
  const reader = folder.createReader();
  const entries: FileSystemEntry[] = [];
  // It answers in portions; an empty one is the last.
  for (;;) {
    const portion = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (portion.length === 0) break;
    entries.push(...portion);
  }
  const files: File[] = [];
  for (const entry of entries.sort((a, b) => a.name.localeCompare(b.name))) files.push(...(await readEntry(entry)));
  return files.filter(isMedia);
};

const readEntry = async (entry: FileSystemEntry): Promise<File[]> => {
  if (entry.isDirectory) return readFolder(entry as FileSystemDirectoryEntry);
  return [await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject))];
};

/** The files that were dropped, with those of dropped folders. */
export const filesOf = async (transfer: DataTransfer): Promise<File[]> => {
  // Before anything is awaited, because the browser forgets them.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const files: File[] = [];
  for (const entry of entries) files.push(...(await readEntry(entry)));
  return files;
};
