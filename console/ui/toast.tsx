import { Toast } from '@base-ui/react/toast';
import { X } from 'lucide-react';
import type { ReactNode } from 'react';
import { sentenceOf } from '../api/client';

const manager = Toast.createToastManager();

/** Says that something was done. */
export const notify = (text: string): void => {
  manager.add({ description: text });
};

/** Says what went wrong; stays until it is closed. */
export const notifyError = (error: unknown): void => {
  manager.add({ description: sentenceOf(error), type: 'error', priority: 'high', timeout: 0 });
};

const List = (): ReactNode =>
  Toast.useToastManager().toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className="toast" data-look={toast.type} aria-label="Message">
      <Toast.Content className="toast-content">
        <Toast.Description className="toast-text" />
        <Toast.Close className="button button-quiet" data-icon-only="" aria-label="Close the message">
          <X aria-hidden />
        </Toast.Close>
      </Toast.Content>
    </Toast.Root>
  ));

/** Where messages appear: once, in the app. */
export const Toasts = (): ReactNode => (
  <Toast.Provider toastManager={manager}>
    <Toast.Portal>
      <Toast.Viewport className="toasts">
        <List />
      </Toast.Viewport>
    </Toast.Portal>
  </Toast.Provider>
);
