import { AlertDialog } from '@base-ui/react/alert-dialog';
import type { ReactNode } from 'react';
import { Button } from './button';
import type { Asked } from './confirm';
import { CheckField } from './field';

const QuestionDialog = ({ question }: { readonly question: Asked }): ReactNode => (
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

export default QuestionDialog;
