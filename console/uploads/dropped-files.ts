/** Names that the containers of video and audio have; browsers don't know the types of some. */
const MEDIA_NAME =
  /\.(mp4|m4v|mov|mkv|webm|avi|mts|m2ts|ts|mpg|mpeg|wmv|flv|ogv|3gp|mxf|m4a|mp3|wav|flac|aac|ogg|opus)$/i;

/** Whether a file of a folder is worth uploading: folders hold other things too. */
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
  const found: File[] = [];
  for (const entry of entries) found.push(...(await readEntry(entry)));
  return found;
};
