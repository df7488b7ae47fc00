import type { ReactNode } from 'react';
import { UploadButtons } from './upload-buttons';

/**
 * Says that files can be dropped, and chooses them for those who don't. `WindowDrop` takes them.
 */
export const DropZone = (): ReactNode => (
  <div className="drop-zone">
    <p>Drop video or audio files or folders here</p>
    <div className="drop-zone-actions">
      <UploadButtons />
    </div>
  </div>
);
