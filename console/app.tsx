import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryClientProvider, useQuery } from '@tanstack/react-query';
import { type ReactNode, Suspense, useState } from 'react';
import { Redirect, Route, Router, Switch, useLocation } from 'wouter';
import { queryClient } from './api/query-client';
import { sessionQuery } from './api/session';
import { Layout } from './layout/layout';
import { ScreenBoundary } from './layout/screen-boundary';
import { lazy } from './lib/lazy';
import { firstScreen, screens } from './screens';
import { NotFound } from './screens/not-found';
import { hasLinkCode } from './screens/sign-in/link-code';
import { ConfirmDialog } from './ui/confirm';
import { ErrorNotice, Loading } from './ui/page';
import { Toasts } from './ui/toast';

/** Most come with a session. */
const SignIn = lazy(() => import('./screens/sign-in/sign-in'));

/**
 * The app: who is not signed in sees the sign-in screen, whatever the address, and then what they
 * came for.
 */
export const App = (): ReactNode => (
  <CSPProvider disableStyleElements>
    <QueryClientProvider client={queryClient}>
      <Router base="/console">
        <Gate />
      </Router>
      <ConfirmDialog />
      <Toasts />
    </QueryClientProvider>
  </CSPProvider>
);

const Gate = (): ReactNode => {
  const { data: session, error, refetch } = useQuery(sessionQuery);
  const [path] = useLocation();
  // A link replaces the session of this browser; why it can't is said instead of displaying that
  // session.
  const [cameWithLink] = useState(hasLinkCode);
  if (session === undefined) {
    return (
      <main className="alone">
        {error ? <ErrorNotice error={error} onRetry={() => void refetch()} /> : <Loading />}
      </main>
    );
  }
  if (session === null || (cameWithLink && path === '/login')) {
    return (
      <Suspense
        fallback={
          <main className="alone">
            <Loading />
          </main>
        }
      >
        <SignIn />
      </Suspense>
    );
  }
  return (
    <Layout key={session.environment.id}>
      <ScreenBoundary path={path}>
        <Suspense fallback={<Loading />}>
          <Switch>
            {screens.map(({ path, component }) => (
              <Route key={path} path={path} component={component} />
            ))}
            <Route path="/">
              <Redirect to={firstScreen} replace />
            </Route>
            <Route path="/login">
              <Redirect to={firstScreen} replace />
            </Route>
            <Route>
              <NotFound />
            </Route>
          </Switch>
        </Suspense>
      </ScreenBoundary>
    </Layout>
  );
};
