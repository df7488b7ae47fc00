import type { ReactNode } from 'react';

/** Left out when the value is nothing. */
export type Fact = readonly [name: string, value: ReactNode];

/** What is known of a thing, each with its name. */
export const FactList = ({ facts }: { readonly facts: readonly Fact[] }): ReactNode => (
  <dl className="facts">
    {facts.map(
      ([name, value]) =>
        value && (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
    )}
  </dl>
);
