import { useSession } from '../api/session';
import type { NewAssetSettings } from '../api/uploads';
import { confirm } from '../ui/confirm';
import { createStore } from '../ui/store';
import { isMedia } from './dropped-files';
import { addFiles, addUrls } from './queue';

/** How the next assets are made; for this window. */
export const uploadSettings = createStore<NewAssetSettings>({ policy: 'public', quality: '' });

interface AddUploads {
  /** Starts those that look like video or audio, and asks about the others. */
  readonly files: (files: readonly File[]) => Promise<void>;
  readonly urls: (urls: readonly string[]) => void;
}

/** Asks whether files that are neither video nor audio are meant. */
const areMeant = (others: readonly File[]): Promise<boolean> => {
  const isOne = others.length === 1;
  return confirm({
    title: `Upload ${isOne ? `“${others[0]!.name}”` : `${others.length} files`} anyway?`,
    text: `${isOne ? 'It does' : 'They do'} not look like video or audio, and such files end as errored assets.`,
    action: 'Upload anyway',
    rejection: `Leave ${isOne ? 'it' : 'them'} out`,
    look: 'primary',
  });
};

/**
 * Puts files and URLs into the queue, for the environment and with the settings that are chosen.
 */
export const useAddUploads = (): AddUploads => {
  const { environment } = useSession();
  return {
    files: async (files) => {
      const settings = uploadSettings.get();
      addFiles(files.filter(isMedia), environment.id, settings);
      const others = files.filter((file) => !isMedia(file));
      if (others.length > 0 && (await areMeant(others))) addFiles(others, environment.id, settings);
    },
    urls: (urls) => addUrls(urls, environment.id, uploadSettings.get()),
  };
};
