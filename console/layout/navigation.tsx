import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { type Session, useSession } from '../api/session';
import { screens } from '../screens';

const mayOpen = ({ permissions, can_administer }: Session, needs: string | readonly string[] = []): boolean => {
  const all = [needs].flat();
  return all.length === 0 || all.some((one) => (one === 'administer' ? can_administer : permissions.includes(one)));
};

/** The screens of the menu that the session may open, by group. */
export const Navigation = (): ReactNode => {
  const session = useSession();
  const [location] = useLocation();
  const entries = screens.flatMap(({ path, navigation }) =>
    navigation && mayOpen(session, navigation.needs) ? [{ path, ...navigation }] : [],
  );
  const groups = [...new Set(entries.map(({ group }) => group))];
  return (
    <nav className="navigation" aria-label="Screens">
      {groups.map((group) => (
        <div key={group} className="navigation-group">
          <h2>{group}</h2>
          <ul>
            {entries
              .filter((entry) => entry.group === group)
              .map(({ path, title, icon: Icon }) => (
                <li key={path}>
                  <Link
                    href={path}
                    aria-current={location === path ? 'page' : location.startsWith(`${path}/`) || undefined}
                  >
                    <Icon aria-hidden />
                    {title}
                  </Link>
                </li>
              ))}
          </ul>
        </div>
      ))}
    </nav>
  );
};
