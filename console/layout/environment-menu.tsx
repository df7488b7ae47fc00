import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { environmentsQuery } from '../api/environments';
import { switchEnvironment, useSession } from '../api/session';
import { useAction } from '../ui/use-action';

/** The environment, and for administrators the way to another one. */
export const EnvironmentMenu = (): ReactNode => {
  const { environment, can_administer } = useSession();
  const { data: environments } = useQuery({ ...environmentsQuery, enabled: can_administer });
  const change = useAction(switchEnvironment);
  if (!environments || environments.length < 2) {
    return (
      <p className="environment">
        <span>Environment: </span>
        {environment.name}
      </p>
    );
  }
  return (
    <select
      className="input"
      aria-label="Environment"
      value={environment.id}
      disabled={change.isPending}
      onChange={({ target }) => change.mutate(target.value)}
    >
      {environments.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
};
