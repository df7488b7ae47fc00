import { queryOptions, useQuery } from '@tanstack/react-query';
import { ApiError, get, onSignedOut, request, setCsrfToken } from './client';
import { queryClient } from './query-client';

export interface Session {
  readonly environment: { readonly id: string; readonly name: string };
  readonly permissions: readonly string[];
  readonly csrf_token: string;
  readonly expires_at: string;
  readonly version: string;
  /** Whether it may manage environments and tokens and see what the server does. */
  readonly can_administer: boolean;
  /** The base of playback URLs, without a trailing slash. */
  readonly stream_url: string;
  /** The base of images, likewise. */
  readonly image_url: string;
  /** The host to which players report views. */
  readonly data_host: string;
}

export type Credentials = { readonly link: string } | { readonly token_id: string; readonly token_secret: string };

const PATH = '/console/api/session';

const accept = (session: Session | null): Session | null => {
  setCsrfToken(session?.csrf_token);
  return session;
};

/** The session of this browser; null when there is none. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: () =>
    get<Session>(PATH).then(accept, (error: unknown) => {
      if (error instanceof ApiError && error.status === 401) return accept(null);
      throw error;
    }),
  staleTime: Number.POSITIVE_INFINITY,
});

const setSession = (session: Session | null): void => {
  queryClient.setQueryData(sessionQuery.queryKey, accept(session));
};
onSignedOut(() => setSession(null));

/** The session of a person who is signed in: only below the layout. */
export const useSession = (): Session => {
  const { data } = useQuery(sessionQuery);
  if (!data) throw new Error('There is no session.');
  return data;
};

/** Whether the session has a permission, such as `video:write`. */
export const usePermission = (permission: string): boolean => useSession().permissions.includes(permission);

/** What was displayed belongs to another session or environment. */
const forgetResponses = (): void =>
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] });

/** @throws ApiError with a sentence that says why, such as that the link was used before */
export const signIn = async (credentials: Credentials): Promise<void> => {
  setSession(await request<Session>('POST', PATH, credentials));
};

export const signOut = async (): Promise<void> => {
  await request('DELETE', PATH);
  setSession(null);
  forgetResponses();
};

/** Continues in another environment: everything that is displayed is loaded again. */
export const switchEnvironment = async (environmentId: string): Promise<void> => {
  const session = await request<Session>('PATCH', PATH, { environment_id: environmentId });
  setSession(session);
  forgetResponses();
};
