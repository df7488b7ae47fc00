import { createConsoleLink } from '#kinora/domain/access/sessions.js';
import type { Api } from '../servers/api.js';

export interface ConsoleSession {
  readonly cookie: string;
  readonly csrf: string;
  /** The body of the answer that opened it. */
  readonly session: Record<string, unknown>;
  /** A request of the signed-in app. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
}

export const openSession = (api: Api, body: object, headers: Record<string, string> = {}): Promise<Response> =>
  api.callAs(undefined, 'POST', '/console/api/session', body, headers);

/** Signs in as the app does: with the code of a new link, or with a token `id:secret`. */
export const signIn = async (api: Api, token?: string): Promise<ConsoleSession> => {
  const [token_id, token_secret] = token?.split(':') ?? [];
  const body = token ? { token_id, token_secret } : { link: await createConsoleLink(api.database, api.clock) };
  const response = await openSession(api, body);
  const session = await response.json();
  if (response.status !== 201) throw new Error(`Signing in failed: ${JSON.stringify(session)}`);
  const cookie = response.headers.get('set-cookie')!.split(';')[0]!;
  const csrf = session.csrf_token as string;
  return {
    cookie,
    csrf,
    session,
    call: (method, path, given, headers = {}) =>
      api.callAs(undefined, method, path, given, { cookie, 'x-csrf-token': csrf, ...headers }),
  };
};
