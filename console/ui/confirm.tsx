import { AlertDialog } from '@base-ui/react/alert-dialog';
import { type ReactNode, useSyncExternalStore } from 'react';
import { Button } from './button';
import { CheckField } from './field';
import { createStore } from './store';

interface Question {
  /** A question, such as "Delete 3 assets?" */
  readonly title: string;
  /** What follows from it. */
  readonly text: string;
  /** The verb of the title. */
  readonly action: string;
  /** The other button; `Cancel` unless told. */
  readonly rejection?: string;
  /** Of the button; `danger` unless told. */
  readonly look?: 'primary' | 'danger';
  /** Something that can be chosen with it; nobody has chosen it at first. */
  readonly choice?: { readonly label: string; readonly onChange: (isChosen: boolean) => void };
}

interface Asked extends Question {
  readonly response: (isConfirmed: boolean) => void;
}

const asked = createStore<Asked | undefined>(undefined);

/** Asks before something that can't be undone or may not be meant. */
export const confirm = (question: Question): Promise<boolean> =>
  new Promise((resolve) => {
    asked.get()?.response(false);
    asked.set({
      ...question,
      response: (isConfirmed) => {
        asked.set(undefined);
        resolve(isConfirmed);
      },
    });
  });

/** Displays the question of `confirm`: once, in the app. */
export const ConfirmDialog = (): ReactNode => {
  const question = useSyncExternalStore(asked.subscribe, asked.get);
  if (!question) return null;
  return (
    <AlertDialog.Root open onOpenChange={(open) => !open && question.response(false)}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="backdrop" />
        <AlertDialog.Popup className="dialog dialog-center">
          <AlertDialog.Title className="dialog-title">{question.title}</AlertDialog.Title>
          <AlertDialog.Description className="dialog-description">{question.text}</AlertDialog.Description>
          {question.choice && (
            <CheckField
              label={question.choice.label}
              onChange={({ target }) => question.choice?.onChange(target.checked)}
            />
          )}
          <div className="dialog-actions">
            <AlertDialog.Close className="button button-normal">{question.rejection ?? 'Cancel'}</AlertDialog.Close>
            <Button look={question.look ?? 'danger'} onClick={() => question.response(true)}>
              {question.action}
            </Button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
};
