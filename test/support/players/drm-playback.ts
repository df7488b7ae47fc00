/** What a player sees of one prepared asset: playlists, files and licenses of its playback ids. */
import { fixture } from '../media/fixtures.js';
import { planFile } from '../media/video-run.js';
import { type PreparedAsset, startPlayback } from './playback.js';
import { inSeconds, type OwnedKey, signToken } from './playback-token.js';

export const bytesOf = async (response: Response): Promise<Buffer> => Buffer.from(await response.arrayBuffer());

/** Status and body of an answer that is a refusal. */
export const messageOf = async (response: Response): Promise<string> =>
  `${response.status} ${JSON.stringify(await response.json())}`;

export interface SeenKey {
  readonly kid: Buffer;
  readonly key: Buffer;
}

/** Key ID and vector in an init segment: at the end of `tenc`. */
export const tencOf = (init: Buffer): { readonly kid: Buffer; readonly iv: Buffer } => {
  const at = init.indexOf('tenc', 0, 'latin1');
  return { kid: init.subarray(at + 12, at + 28), iv: init.subarray(at + 29, at + 45) };
};

export const drmPlayback = (origin: string, key: OwnedKey, { drmId, publicId }: PreparedAsset) => {
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`${origin}${path}`, { headers, method });
  const textOf = async (path: string) => (await get(path)).text();
  const token = (aud: string, claims: object = {}, sub = drmId) =>
    signToken(key, { kid: key.keyId, sub, aud, exp: inSeconds(600), ...claims });
  const master = () => textOf(`/${drmId}.m3u8?token=${token('v')}`);

  /** Paths of the playlists that a multivariant playlist names, by rendition. */
  const children = async (path: string): Promise<Map<string, string>> => {
    const paths = (await textOf(path)).match(/[^"\n]+\/playlist\.m3u8[^"\n]*/g)!;
    return new Map(paths.map((child) => [child.split('/')[2]!, `/${child}`]));
  };
  /** Paths of the init segment and the segments of a media playlist. */
  const filesOf = async (playlist: string): Promise<string[]> => {
    const text = await textOf(playlist);
    const segments = text.split('\n').filter((line) => line && !line.startsWith('#'));
    const names = [/MAP:URI="([^"]+)"/.exec(text)![1]!, ...segments];
    return names.map((name) => playlist.replace(/playlist\.m3u8.*/, name));
  };
  const license = (body: unknown, query = `?token=${token('d')}`, id = drmId) =>
    fetch(`${origin}/license/clearkey/${id}${query}`, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });

  return {
    get,
    textOf,
    token,
    master,
    children,
    filesOf,
    license,
    drmFiles: async (rendition: string) =>
      filesOf((await children(`/${drmId}.m3u8?token=${token('v')}`)).get(rendition)!),
    openFiles: async (rendition: string) => filesOf((await children(`/${publicId}.m3u8`)).get(rendition)!),
    /** The keys of all tracks, as a player gets them. */
    contentKeys: async (): Promise<SeenKey[]> => {
      const kids = new Set([...(await master()).matchAll(/KEYID=0x([0-9a-f]{32})/g)].map((match) => match[1]!));
      const asked = [...kids].map((kid) => Buffer.from(kid, 'hex').toString('base64url'));
      const response = await license({ kids: asked, type: 'temporary' });
      const { keys } = (await response.json()) as { keys: { kid: string; k: string }[] };
      return keys.map(({ kid, k }) => ({ kid: Buffer.from(kid, 'base64url'), key: Buffer.from(k, 'base64url') }));
    },
  };
};

/** A server with two assets of one source, a signing key, and what a player sees of the first. */
export const startDrmPlayback = async (options?: Parameters<typeof startPlayback>[0]) => {
  const source = await planFile(await fixture('copy-720p.mp4'), { quality: 'plus' });
  const server = await startPlayback(options);
  const [asset, other] = [await server.addAsset(source), await server.addAsset(source)];
  const { id, private_key } = await server.sdk().system.signingKeys.create();
  const key: OwnedKey = { keyId: id, keySecret: private_key! };
  return { server, asset, other, key, play: drmPlayback(server.origin, key, asset) };
};

export type DrmPlayback = ReturnType<typeof drmPlayback>;
export type PlaybackServer = Awaited<ReturnType<typeof startPlayback>>;
