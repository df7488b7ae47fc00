import type { Config } from '../../config/options.js';
import { localTokenPath } from '../../domain/access/local-token.js';
import { KinoraError } from '../../lib/errors.js';
import { usageError } from './command.js';
import { findToken } from './local-token.js';

interface Body<T> {
  readonly data: T;
  readonly next_cursor?: string | null;
  readonly error?: { readonly messages: readonly string[] };
}

/** `T` is undefined for answers without a body. */
export type ApiCall = <T>(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: object,
) => Promise<Body<T>>;

/** The server's largest page. */
export const PAGE = 100;

/** All items of a list with cursors, newest first; pages are requested as they are needed. */
export async function* pagesOf<T>(api: ApiCall, path: string): AsyncGenerator<T> {
  let cursor: string | null | undefined = '';
  while (typeof cursor === 'string') {
    const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page = await api<T[]>('GET', `${path}?limit=${PAGE}${query}`);
    yield* page.data;
    cursor = page.next_cursor;
  }
}

/** All items of a list with numbered pages. */
export const allPages = async <T>(api: ApiCall, path: string): Promise<T[]> => {
  const items: T[] = [];
  for (let page = 1, received = PAGE; received === PAGE; page++) {
    const { data } = await api<T[]>('GET', `${path}?limit=${PAGE}&page=${page}`);
    items.push(...data);
    received = data.length;
  }
  return items;
};

/** The URL at which this machine reaches the server. */
export const serverUrl = (config: Config): string => {
  if (config.publicUrl !== undefined) return config.publicUrl;
  if (config.port === 0)
    throw usageError('KINORA_PORT is 0, so the URL of the server is unknown: set KINORA_PUBLIC_URL.');
  const everywhere: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
  const host = everywhere[config.host] ?? config.host;
  return `http://${host.includes(':') ? `[${host}]` : host}:${config.port}`;
};

/** @throws KinoraError when no token is known; calls throw with the server's messages */
export const connectApi = async (config: Config): Promise<ApiCall> => {
  const origin = serverUrl(config);
  const token = await findToken(config);
  if (token === undefined) {
    throw usageError(
      `No access token in ${localTokenPath(config.dataDir)}: create one with kinora token create and set KINORA_TOKEN to it.`,
    );
  }
  const authorization = `Basic ${Buffer.from(token).toString('base64')}`;
  return async <T>(method: string, path: string, body?: object): Promise<Body<T>> => {
    const response = await send(`${origin}${path}`, {
      method,
      headers: { authorization, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const parsedBody = text === '' ? ({} as Body<T>) : parse<T>(text, origin);
    if (!response.ok) {
      const messages =
        response.status === 401
          ? [`The server at ${origin} rejected this access token; set KINORA_TOKEN to a valid one.`]
          : (parsedBody.error?.messages ?? [`The server answered with status ${response.status}.`]);
      throw new KinoraError(response.status === 404 ? 'not_found' : 'invalid_parameters', { messages });
    }
    return parsedBody;
  };
};

const send = async (url: string, init: RequestInit): Promise<Response> => {
  try {
    return await fetch(url, init);
  } catch (error) {
    const cause = error instanceof Error ? error.cause : error;
    throw new KinoraError('unavailable', {
      messages: [`No server answers at ${new URL(url).origin}; is kinora serve running?`],
      cause,
    });
  }
};

const parse = <T>(text: string, origin: string): Body<T> => {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new KinoraError('unavailable', { messages: [`The server at ${origin} is not Kinora.`], cause });
  }
};
