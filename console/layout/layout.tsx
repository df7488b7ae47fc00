import { Menu as MenuIcon } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { useLocation } from 'wouter';
import { useChanges } from '../api/changes';
import { usePermission } from '../api/session';
import { IconButton } from '../ui/button';
import { Dialog } from '../ui/dialog';
import { UploadTray } from '../uploads/tray';
import { WindowDrop } from '../uploads/window-drop';
import { AwayBanner } from './away-banner';
import { EnvironmentMenu } from './environment-menu';
import { Navigation } from './navigation';
import { UserMenu } from './user-menu';

/**
 * What surrounds every screen: navigation, the environment, and the banner that says when the
 * server is away.
 */
export const Layout = ({ children }: { readonly children: ReactNode }): ReactNode => {
  useChanges();
  const mayUpload = usePermission('video:write');
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [location] = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: it closes because the screen changes.
  useEffect(() => setMenuOpen(false), [location]);
  const menu = (
    <>
      <EnvironmentMenu />
      <Navigation />
      <UserMenu />
    </>
  );
  return (
    <div className="frame">
      <a className="skip-link" href="#screen">
        Skip to the content
      </a>
      <header className="top-bar">
        <IconButton label="Menu" icon={<MenuIcon aria-hidden />} onClick={() => setMenuOpen(true)} />
        <Brand />
      </header>
      <Dialog isOpen={isMenuOpen} onClose={() => setMenuOpen(false)} title="Menu" look="side">
        <div className="side-menu">{menu}</div>
      </Dialog>
      <aside className="side-bar" aria-label="Kinora">
        <Brand />
        {menu}
      </aside>
      <main id="screen" tabIndex={-1}>
        <AwayBanner />
        <div className="screen">{children}</div>
      </main>
      {mayUpload && <WindowDrop />}
      {mayUpload && <UploadTray />}
    </div>
  );
};

const Brand = (): ReactNode => (
  <div className="brand">
    <img src="/console/favicon.svg" alt="" width="24" height="24" />
    Kinora
  </div>
);
