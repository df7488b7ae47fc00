import type { ReactNode } from 'react';

interface EmptyStateProps {
  /** What is missing. */
  readonly title: string;
  /** How to begin: a sentence, buttons, a command. */
  readonly children?: ReactNode;
}

export const EmptyState = ({ title, children }: EmptyStateProps): ReactNode => (
  <div className="empty">
    <h2>{title}</h2>
    {children}
  </div>
);
