import { Field as BaseField } from '@base-ui/react/field';
import type { ComponentProps, ReactNode } from 'react';

interface FrameProps {
  readonly label: string;
  /** What to enter, below the control. */
  readonly hint?: ReactNode;
  /** What is wrong with the value. */
  readonly error?: string | undefined;
}

const Frame = ({ label, hint, error, children }: FrameProps & { readonly children: ReactNode }): ReactNode => (
  <BaseField.Root className="field" invalid={error !== undefined}>
    <BaseField.Label className="field-label">{label}</BaseField.Label>
    {children}
    {hint !== undefined && <BaseField.Description className="field-hint">{hint}</BaseField.Description>}
    <BaseField.Error className="field-error" match={error !== undefined}>
      {error}
    </BaseField.Error>
  </BaseField.Root>
);

type Control<Tag extends 'input' | 'textarea' | 'select'> = FrameProps & Omit<ComponentProps<Tag>, 'className'>;

/** A line of text with its label. */
export const TextField = ({ label, hint, error, ...props }: Control<'input'>): ReactNode => (
  <Frame label={label} hint={hint} error={error}>
    <BaseField.Control className="input" render={<input {...props} />} />
  </Frame>
);

/** Several lines of text with their label. */
export const TextArea = ({ label, hint, error, ...props }: Control<'textarea'>): ReactNode => (
  <Frame label={label} hint={hint} error={error}>
    <BaseField.Control className="input" render={<textarea {...props} />} />
  </Frame>
);

interface SelectProps extends Control<'select'> {
  /** Values and what they are called. */
  readonly options: readonly (readonly [value: string, text: string])[];
}

/**
 * A choice of one of a few values. It is the browser's own control, which every device knows how to
 * operate.
 */
export const SelectField = ({ label, hint, error, options, ...props }: SelectProps): ReactNode => (
  <Frame label={label} hint={hint} error={error}>
    <BaseField.Control
      className="input"
      render={
        <select {...props}>
          {options.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      }
    />
  </Frame>
);

interface CheckFieldProps extends Omit<ComponentProps<'input'>, 'type' | 'className'> {
  readonly label: ReactNode;
}

export const CheckField = ({ label, ...props }: CheckFieldProps): ReactNode => (
  <label className="check">
    <input type="checkbox" {...props} />
    <span>{label}</span>
  </label>
);
