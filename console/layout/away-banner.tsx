import { CloudOff } from 'lucide-react';
import type { ReactNode } from 'react';
import { retryNow, useServerAway } from '../api/changes';
import { Button } from '../ui/button';

/**
 * Says that the server can't be reached. The app tries again by itself, and what is displayed is
 * then loaded again.
 */
export const AwayBanner = (): ReactNode => {
  const isUnavailable = useServerAway();
  return (
    <div role="status" className="away-place">
      {isUnavailable && (
        <div className="notice notice-warning away">
          <CloudOff aria-hidden />
          <p>The server can't be reached. What you see may be out of date. Trying again …</p>
          <Button onClick={retryNow}>Try now</Button>
        </div>
      )}
    </div>
  );
};
