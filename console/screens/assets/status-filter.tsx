import { Toggle } from '@base-ui/react/toggle';
import { ToggleGroup } from '@base-ui/react/toggle-group';
import type { ReactNode } from 'react';

const choices = [
  ['all', 'All'],
  ['ready', 'Ready'],
  ['preparing', 'Preparing'],
  ['errored', 'Errored'],
] as const;

interface StatusFilterProps {
  readonly value: string | undefined;
  readonly onChange: (status: string | undefined) => void;
}

export const StatusFilter = ({ value, onChange }: StatusFilterProps): ReactNode => (
  <ToggleGroup
    className="segments"
    aria-label="Status"
    value={[value ?? 'all']}
    onValueChange={([chosen]) => onChange(chosen === 'all' ? undefined : chosen)}
  >
    {choices.map(([status, text]) => (
      <Toggle key={status} value={status} className="segment">
        {text}
      </Toggle>
    ))}
  </ToggleGroup>
);
