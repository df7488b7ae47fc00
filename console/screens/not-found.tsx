import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { Page } from '../ui/page';

export const NotFound = (): ReactNode => (
  <Page title="Not found">
    <p>
      There is no screen at this address. <Link href="/assets">Go to the assets</Link>
    </p>
  </Page>
);
