import { AlertDialog } from '@base-ui/react/alert-dialog';
import type { ReactNode } from 'react';
import { Button } from './button';
import { CheckField } from './field';

export interface Question {
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

interface QuestionDialogProps {
  readonly question: Question;
  readonly onResponse: (isConfirmed: boolean) => void;
}

const QuestionDialog = ({ question, onResponse }: QuestionDialogProps): ReactNode => (
  <AlertDialog.Root open onOpenChange={(open) => !open && onResponse(false)}>
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
          <Button look={question.look ?? 'danger'} onClick={() => onResponse(true)}>
            {question.action}
          </Button>
        </div>
      </AlertDialog.Popup>
    </AlertDialog.Portal>
  </AlertDialog.Root>
);

export default QuestionDialog;
