import { Dialog as BaseDialog } from '@base-ui/react/dialog';
import { X } from 'lucide-react';
import type { ReactNode } from 'react';

interface DialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly description?: ReactNode;
  /** `side` slides in from the left edge: the navigation of narrow windows. */
  readonly look?: 'center' | 'side';
  readonly children: ReactNode;
}

/** Keeps the focus inside, closes with Esc, and gives the focus back to what opened it. */
export const Dialog = ({ isOpen, onClose, title, description, look = 'center', children }: DialogProps): ReactNode => (
  <BaseDialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
    <BaseDialog.Portal>
      <BaseDialog.Backdrop className="backdrop" />
      <BaseDialog.Popup className={`dialog dialog-${look}`}>
        <div className="dialog-head">
          <BaseDialog.Title className="dialog-title">{title}</BaseDialog.Title>
          <BaseDialog.Close className="button button-quiet" data-icon-only="" aria-label="Close">
            <X aria-hidden />
          </BaseDialog.Close>
        </div>
        {description !== undefined && (
          <BaseDialog.Description className="dialog-description">{description}</BaseDialog.Description>
        )}
        {children}
      </BaseDialog.Popup>
    </BaseDialog.Portal>
  </BaseDialog.Root>
);
