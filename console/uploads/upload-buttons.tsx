import { FolderUp, Upload } from 'lucide-react';
import { type ChangeEvent, type ReactNode, useRef } from 'react';
import { Button } from '../ui/button';
import { notifyError } from '../ui/toast';
import { isMedia } from './dropped-files';
import { useAddUploads } from './upload-settings';

// React's types lack the attribute, which all browsers have.
const OF_FOLDER = { webkitdirectory: '' };

/** Buttons that choose files and folders. */
export const UploadButtons = (): ReactNode => {
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const add = useAddUploads();
  const take = (event: ChangeEvent<HTMLInputElement>, isFolder: boolean): void => {
    const chosen = [...(event.target.files ?? [])];
    const mediaFiles = isFolder ? chosen.filter(isMedia) : chosen;
    // The same file can be chosen again.
    event.target.value = '';
    if (chosen.length > 0 && mediaFiles.length === 0)
      notifyError(new Error('There is no video or audio in this folder.'));
    void add.files(mediaFiles);
  };
  return (
    <>
      <input
        ref={files}
        type="file"
        multiple
        hidden
        data-testid="upload-files"
        onChange={(event) => take(event, false)}
      />
      <input ref={folder} type="file" multiple hidden {...OF_FOLDER} onChange={(event) => take(event, true)} />
      <Button onClick={() => folder.current?.click()}>
        <FolderUp aria-hidden />
        Upload a folder
      </Button>
      <Button look="primary" onClick={() => files.current?.click()}>
        <Upload aria-hidden />
        Upload files
      </Button>
    </>
  );
};
