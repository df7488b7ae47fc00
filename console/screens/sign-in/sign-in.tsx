import { type ChangeEvent, type FormEvent, type ReactNode, useEffect, useState } from 'react';
import { useLocation } from 'wouter';
import { sentenceOf } from '../../api/client';
import { type Credentials, signIn } from '../../api/session';
import { Button } from '../../ui/button';
import { TextField } from '../../ui/field';
import { takeLinkCode } from './link-code';

/** A token as it is printed and kept in files: the ID, a colon and the secret. */
const WHOLE_TOKEN = /^\s*([^\s:]+):(\S+)\s*$/;

const SignIn = (): ReactNode => {
  const [path, navigate] = useLocation();
  const [tokenId, setTokenId] = useState('');
  const [secret, setSecret] = useState('');
  const [isBusy, setBusy] = useState(false);
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
  // biome-ignore lint/correctness/useExhaustiveDependencies: each link is used once.
  useEffect(() => {
    document.title = 'Sign in · Kinora';
    const enterWithLink = (): void => {
      const link = takeLinkCode();
      if (link !== undefined) void enter({ link });
    };
    enterWithLink();
    // A link that is opened in this tab changes the address, but doesn't load the page again.
    window.addEventListener('hashchange', enterWithLink);
    return () => window.removeEventListener('hashchange', enterWithLink);
  }, []);

  const splitToken = (text: string): boolean => {
    const [, id, rest] = WHOLE_TOKEN.exec(text) ?? [];
    if (id === undefined || rest === undefined) return false;
    setTokenId(id);
    setSecret(rest);
    return true;
  };
  const changeId = ({ target: { value } }: ChangeEvent<HTMLInputElement>): void => {
    // Only a token that arrives at once, by pasting: while someone types, the field stays as it is.
    if (tokenId.includes(':') || !splitToken(value)) setTokenId(value);
  };
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    void enter({ token_id: tokenId.trim(), token_secret: secret.trim() });
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
            value={tokenId}
            onChange={changeId}
            onBlur={() => splitToken(tokenId)}
            required
            autoComplete="username"
            autoCapitalize="none"
            spellCheck={false}
          />
          <TextField
            label="Token secret"
            name="token_secret"
            type="password"
            value={secret}
            onChange={({ target }) => setSecret(target.value)}
            required
            autoComplete="current-password"
          />
          <Button type="submit" look="primary" isBusy={isBusy}>
            {isBusy ? 'Signing in …' : 'Sign in'}
          </Button>
        </form>
        <p className="field-hint">
          Or run <code>kinora console</code> where the server runs, and open the link that it prints. It works once. To
          make a token, run <code>kinora token create</code>.
        </p>
      </div>
    </main>
  );
};

export default SignIn;
