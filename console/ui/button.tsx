import { Button as BaseButton } from '@base-ui/react/button';
import type { ComponentProps, ReactNode } from 'react';

export interface ButtonProps extends Omit<ComponentProps<typeof BaseButton>, 'className' | 'style'> {
  /**
   * `primary` for the one main action of a view, `quiet` inside rows. What can't be undone is red:
   * `delete` opens the question, and `danger` confirms it.
   */
  readonly look?: 'normal' | 'primary' | 'delete' | 'danger' | 'quiet';
  /** While its action runs it can't be pressed again, and keeps the focus. */
  readonly isBusy?: boolean;
}

export const Button = ({ look = 'normal', isBusy = false, disabled, ...props }: ButtonProps): ReactNode => (
  <BaseButton
    className={`button button-${look}`}
    disabled={disabled || isBusy}
    focusableWhenDisabled={isBusy}
    aria-busy={isBusy || undefined}
    {...props}
  />
);

interface IconButtonProps extends Omit<ButtonProps, 'children' | 'aria-label'> {
  /** What it does, for screen readers and as a hint. */
  readonly label: string;
  readonly icon: ReactNode;
}

export const IconButton = ({ label, icon, look = 'quiet', ...props }: IconButtonProps): ReactNode => (
  <Button look={look} aria-label={label} title={label} data-icon-only="" {...props}>
    {icon}
  </Button>
);
