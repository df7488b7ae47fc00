import { LogOut } from 'lucide-react';
import { type ReactNode, useSyncExternalStore } from 'react';
import { signOut, useSession } from '../api/session';
import { Button } from '../ui/button';
import { useAction } from '../ui/use-action';
import { setTheme, type Theme, theme } from './theme';

/** Theme, sign out and the version. */
export const UserMenu = (): ReactNode => {
  const { version } = useSession();
  const chosen = useSyncExternalStore(theme.subscribe, theme.get);
  const leave = useAction(signOut);
  return (
    <div className="user-menu">
      <select
        className="input"
        aria-label="Theme"
        value={chosen}
        onChange={({ target }) => setTheme(target.value as Theme)}
      >
        <option value="system">Theme: System</option>
        <option value="light">Theme: Light</option>
        <option value="dark">Theme: Dark</option>
      </select>
      <Button look="quiet" isBusy={leave.isPending} onClick={() => leave.mutate(undefined)}>
        <LogOut aria-hidden />
        Sign out
      </Button>
      <p className="user-menu-line">
        <a href="/docs">API reference</a>
        <span>Kinora {version}</span>
      </p>
    </div>
  );
};
