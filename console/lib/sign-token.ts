/**
 * Playback tokens, signed by this browser. The server does not keep private keys, so the console
 * makes a signing key for itself the first time; the browser keeps it in a form that no script can
 * read out, for each environment.
 */
import { request } from '../api/client';

const DATABASE = 'kinora';
const STORE = 'signing-keys';
const ALGORITHM = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };

interface SigningKey {
  readonly id: string;
  readonly key: CryptoKey;
}

const settled = <T>(pending: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    pending.onsuccess = () => resolve(pending.result);
    pending.onerror = () => reject(pending.error);
  });

const openStore = async (mode: IDBTransactionMode): Promise<IDBObjectStore> => {
  const opening = indexedDB.open(DATABASE, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
  return (await settled(opening)).transaction(STORE, mode).objectStore(STORE);
};

const bytesOf = (base64: string): Uint8Array => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

const base64Url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '');

const block = (tag: number, content: Uint8Array): Uint8Array =>
  // Keys are longer than 255 and shorter than 65,536 bytes, so the length has two bytes.
  Uint8Array.from([tag, 0x82, content.length >> 8, content.length & 0xff, ...content]);

/**
 * Version 0 and the object identifier of RSA keys: what PKCS #8 puts before the key that the API
 * returns (PKCS #1).
 */
const RSA_HEAD = [
  0x02, 0x01, 0x00, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00,
];

const importKey = (pem: string): Promise<CryptoKey> => {
  const rsaKey = bytesOf(pem.replace(/-----[^-]+-----|\s/g, ''));
  const wrapped = block(0x30, Uint8Array.from([...RSA_HEAD, ...block(0x04, rsaKey)]));
  return crypto.subtle.importKey('pkcs8', wrapped as BufferSource, ALGORITHM, false, ['sign']);
};

const createKey = async (): Promise<SigningKey> => {
  const { data } = await request<{ data: { id: string; private_key: string } }>('POST', '/video/v1/signing-keys');
  return { id: data.id, key: await importKey(atob(data.private_key)) };
};

const isKnown = (id: string): Promise<boolean> =>
  request('GET', `/video/v1/signing-keys/${id}`).then(
    () => true,
    () => false,
  );

const keyOf = async (environmentId: string): Promise<SigningKey> => {
  const storedKey = (await settled((await openStore('readonly')).get(environmentId))) as SigningKey | undefined;
  // It may have been revoked.
  if (storedKey && (await isKnown(storedKey.id))) return storedKey;
  const created = await createKey();
  await settled((await openStore('readwrite')).put(created, environmentId));
  return created;
};

/** What a token allows: the video, its thumbnails or the license of its DRM. */
export type Audience = 'v' | 't' | 'd';

/** @param expiresAt seconds since 1970 */
const signToken = async (
  environmentId: string,
  playbackId: string,
  audience: Audience,
  expiresAt: number,
  claims: Readonly<Record<string, string | number>> = {},
): Promise<string> => {
  if (!isSecureContext) {
    throw new Error('Browsers sign only on pages with HTTPS or on localhost. Open the console there.');
  }
  const { id, key } = await keyOf(environmentId);
  const part = (value: object): string => base64Url(new TextEncoder().encode(JSON.stringify(value)));
  const text = `${part({ alg: 'RS256', typ: 'JWT', kid: id })}.${part({ ...claims, sub: playbackId, aud: audience, exp: expiresAt })}`;
  const signature = await crypto.subtle.sign(ALGORITHM, key, new TextEncoder().encode(text));
  return `${text}.${base64Url(new Uint8Array(signature))}`;
};

/**
 * The URL of a frame of a playback ID; what the query says of a public one is signed for others.
 */
export const signThumbnail = async (
  base: string,
  environmentId: string,
  { id, policy }: { readonly id: string; readonly policy: string },
  values: Readonly<Record<string, string | number>>,
  expiresAt: number,
): Promise<string> => {
  const url = `${base}/${id}/thumbnail.webp`;
  const text = Object.entries(values).map(([name, value]) => [name, String(value)]);
  if (policy === 'public') return `${url}?${new URLSearchParams(text)}`;
  return `${url}?token=${await signToken(environmentId, id, 't', expiresAt, values)}`;
};

/** The ID of the key that this browser signs with. */
export const signingKeyId = async (environmentId: string): Promise<string> => (await keyOf(environmentId)).id;

/** The page that plays a playback ID, with the tokens that its policy asks for. */
export const signPage = async (
  base: string,
  environmentId: string,
  { id, policy }: { readonly id: string; readonly policy: string },
  expiresAt: number,
): Promise<string> => {
  const token = await signToken(environmentId, id, 'v', expiresAt);
  const license = policy === 'drm' ? `&drm-token=${await signToken(environmentId, id, 'd', expiresAt)}` : '';
  return `${base}/${id}?token=${token}${license}`;
};
