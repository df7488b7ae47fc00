import { type ReactNode, useEffect, useState } from 'react';
import { notifyError } from '../ui/toast';
import { filesOf } from './dropped-files';
import { useAddUploads } from './upload-settings';

const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes('Files') ?? false;

/** Takes files that are dropped anywhere into the window, and says so while they are above it. */
export const WindowDrop = (): ReactNode => {
  const [isOver, setOver] = useState(false);
  const add = useAddUploads();
  useEffect(() => {
    const over = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent): void => {
      if (event.relatedTarget === null) setOver(false);
    };
    const take = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(false);
      filesOf(event.dataTransfer!)
        .then((files) => {
          if (files.length === 0) throw new Error('There is no video or audio in what was dropped.');
          return add.files(files);
        })
        .catch(notifyError);
    };
    window.addEventListener('dragover', over);
    window.addEventListener('dragleave', leave);
    window.addEventListener('drop', take);
    return () => {
      window.removeEventListener('dragover', over);
      window.removeEventListener('dragleave', leave);
      window.removeEventListener('drop', take);
    };
  }, [add]);
  return isOver && <div className="drop-cover">Drop to upload</div>;
};
