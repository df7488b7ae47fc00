import { Toggle } from '@base-ui/react/toggle';
import { ToggleGroup } from '@base-ui/react/toggle-group';
import type { ReactNode } from 'react';

interface StatusFilterProps {
  /** Statuses and what they are called; “All” stands before them. */
  readonly choices: readonly (readonly [status: string, text: string])[];
  readonly value: string | undefined;
  readonly onChange: (status: string | undefined) => void;
}

export const StatusFilter = ({ choices, value, onChange }: StatusFilterProps): ReactNode => (
  <ToggleGroup
    className="segments"
    aria-label="Status"
    value={[value ?? 'all']}
    onValueChange={([chosen]) => onChange(chosen === 'all' ? undefined : chosen)}
  >
    {[['all', 'All'] as const, ...choices].map(([status, text]) => (
      <Toggle key={status} value={status} className="segment">
        {text}
      </Toggle>
    ))}
  </ToggleGroup>
);
