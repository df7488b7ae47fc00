import { type FormEvent, type ReactNode, useEffect, useState } from 'react';
import { useLocation } from 'wouter';
import { sentenceOf } from '../../api/client';
import { type Credentials, signIn } from '../../api/session';
import { Button } from '../../ui/button';
import { TextField } from '../../ui/field';

/**
 * The code of the link that the server prints when it starts: `/console/login#CODE`. It works once, so it is taken out of
 * the address before it is used, and asking for it again answers nothing.
 */
const takeLinkCode = (): string | undefined => {
  const code = location.hash.slice(1);
  if (!location.pathname.endsWith('/login') || code === '') return undefined;
  history.replaceState(null, '', location.pathname);
  return decodeURIComponent(code);
};

export const SignIn = (): ReactNode => {
  const [path, navigate] = useLocation();
  const [link] = useState(takeLinkCode);
  const [isBusy, setBusy] = useState(link !== undefined);
  const [problem, setProblem] = useState<string>();

  const enter = async (credentials: Credentials): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      await signIn(credentials);
      if (path === '/login') navigate('/assets', { replace: true });
    } catch (error) {
      setProblem(sentenceOf(error));
      setBusy(false);
    }
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: the link is used once.
  useEffect(() => {
    document.title = 'Sign in · Kinora';
    if (link !== undefined) void enter({ link });
  }, []);

  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const text = (name: string): string => String(data.get(name)).trim();
    void enter({ token_id: text('token_id'), token_secret: text('token_secret') });
  };
  return (
    <main className="alone">
      <div className="sign-in">
        <div className="brand">
          <img src="/console/favicon.svg" alt="" width="32" height="32" />
          Kinora
        </div>
        <h1>Sign in</h1>
        <div role="alert">{problem !== undefined && <p className="notice notice-error">{problem}</p>}</div>
        <form onSubmit={submit}>
          <TextField
            label="Token ID"
            name="token_id"
            required
            autoComplete="username"
            autoCapitalize="none"
            spellCheck={false}
          />
          <TextField
            label="Token secret"
            name="token_secret"
            type="password"
            required
            autoComplete="current-password"
          />
          <Button type="submit" look="primary" isBusy={isBusy}>
            {isBusy ? 'Signing in …' : 'Sign in'}
          </Button>
        </form>
        <p className="field-hint">
          Or open the link that the server prints when it starts. It works once. To make a token, run{' '}
          <code>kinora token create</code> where the server runs.
        </p>
      </div>
    </main>
  );
};
