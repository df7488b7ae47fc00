import { type FormEvent, type ReactNode, useState } from 'react';
import { Button, type ButtonProps } from './button';
import { Dialog } from './dialog';
import { useAction } from './use-action';

interface FormDialogProps<Result> {
  /** Of the button that opens it, and of the dialog: "Add vocabulary". */
  readonly title: string;
  /** The button, where its text is shorter than the title or it looks different. */
  readonly button?: Pick<ButtonProps, 'children' | 'look'>;
  /** The verb of the button that sends it. */
  readonly verb: string;
  readonly send: (values: FormData) => Promise<Result>;
  readonly refresh: readonly (readonly unknown[])[];
  /** What is said when it was sent. */
  readonly done?: string;
  /**
   * Displayed instead of the form when it was sent, such as a new secret; without it the dialog
   * closes.
   */
  readonly after?: (result: Result, close: () => void) => ReactNode;
  /** The fields. */
  readonly children: ReactNode;
}

/** A button that opens a form. Failures stand in the form, which keeps what was entered. */
export const FormDialog = <Result,>(props: FormDialogProps<Result>): ReactNode => {
  const { title, button, verb, send, refresh, done, after, children } = props;
  const [isOpen, setOpen] = useState(false);
  const close = (): void => {
    setOpen(false);
    action.reset();
  };
  const action = useAction(send, {
    refresh,
    ...(done !== undefined && { done }),
    isSilent: true,
    onDone: () => !after && close(),
  });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    action.mutate(new FormData(event.currentTarget));
  };
  return (
    <>
      <Button {...(button && { ...button, 'aria-label': title })} onClick={() => setOpen(true)}>
        {button?.children ?? title}
      </Button>
      <Dialog isOpen={isOpen} onClose={close} title={title}>
        {after && action.data !== undefined ? (
          after(action.data, close)
        ) : (
          <form className="form" onSubmit={submit}>
            {children}
            {action.error && (
              <p className="field-error" role="alert">
                {action.error.message}
              </p>
            )}
            <div className="dialog-actions">
              <Button onClick={close}>Cancel</Button>
              <Button type="submit" look="primary" isBusy={action.isPending}>
                {verb}
              </Button>
            </div>
          </form>
        )}
      </Dialog>
    </>
  );
};
