import { useSession } from '../api/session';
import type { NewAssetSettings } from '../api/uploads';
import { createStore } from '../ui/store';
import { addFiles, addUrls } from './queue';

/** How the next assets are made; for this window. */
export const uploadSettings = createStore<NewAssetSettings>({ policy: 'public', quality: '' });

interface AddUploads {
  readonly files: (files: readonly File[]) => void;
  readonly urls: (urls: readonly string[]) => void;
}

/** Puts files and URLs into the queue, for the environment and with the settings that are chosen. */
export const useAddUploads = (): AddUploads => {
  const { environment } = useSession();
  return {
    files: (files) => addFiles(files, environment.id, uploadSettings.get()),
    urls: (urls) => addUrls(urls, environment.id, uploadSettings.get()),
  };
};
