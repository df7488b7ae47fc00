import { useSession } from '../api/session';
import type { NewAssetSettings } from '../api/uploads';
import { confirm } from '../ui/confirm';
import { createStore } from '../ui/store';
import { isMedia } from './dropped-files';
import { addFiles, addUrls } from './queue';

/** How the next assets are made; for this window. */
export const uploadSettings = createStore<NewAssetSettings>({ policy: 'public', quality: '' });

interface AddUploads {
  /** Asks first when some of them don't look like video or audio. */
  readonly files: (files: readonly File[]) => Promise<void>;
  readonly urls: (urls: readonly string[]) => void;
}

/** The files without those that are neither video nor audio, unless they are meant. */
const withoutMistakes = async (files: readonly File[]): Promise<readonly File[]> => {
  const others = files.filter((file) => !isMedia(file));
  if (others.length === 0) return files;
  const names = others.length === 1 ? `“${others[0]!.name}”` : `${others.length} files`;
  const areMeant = await confirm({
    title: `Upload ${names} anyway?`,
    text: `${others.length === 1 ? 'It does' : 'They do'} not look like video or audio, and such files end as errored assets.`,
    action: 'Upload anyway',
    look: 'primary',
  });
  return areMeant ? files : files.filter(isMedia);
};

/** Puts files and URLs into the queue, for the environment and with the settings that are chosen. */
export const useAddUploads = (): AddUploads => {
  const { environment } = useSession();
  return {
    files: async (files) => addFiles(await withoutMistakes(files), environment.id, uploadSettings.get()),
    urls: (urls) => addUrls(urls, environment.id, uploadSettings.get()),
  };
};
