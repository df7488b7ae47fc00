import type { Path, Problems } from '../../lib/problems.js';
import type { AssetInput } from './asset-request.js';

const ASSET_URL = /^(?:mux|kinora):\/\/assets\/([^/?#]+)$/;

/** Returns the ID in `mux://assets/{id}` (alias `kinora://`); undefined for any other URL. */
export const assetIdOfUrl = (url: string): string | undefined => ASSET_URL.exec(url)?.[1];

/**
 * Accepts an absolute http(s) URL exactly as written; it rejects what the URL parser would silently
 * repair (spaces, one or three slashes).
 */
export const isWebUrl = (text: string): boolean => /^https?:\/\/[^\s\\/?#][^\s\\]*$/i.test(text) && URL.canParse(text);

/** How the service uses an input. */
type InputRole = 'main' | 'text' | 'audio' | 'overlay';

type RoleSettings = Pick<AssetInput, 'type' | 'text_type' | 'language_code' | 'overlay_settings'>;

/**
 * @param position the main input is at 0; the first input of a direct upload may be at 1
 * (`impliesMainInput`)
 */
export const roleOfInput = (input: RoleSettings, position: number): InputRole => {
  const { type, text_type, language_code, overlay_settings } = input;
  if (position === 0) return 'main';
  if (type === 'text' || type === 'audio') return type;
  const isAudio = [type, text_type, overlay_settings].every((value) => value === undefined) && language_code;
  return isAudio ? 'audio' : 'overlay';
};

const MIN_CLIP_SECONDS = 0.5;

/** Rounds to microseconds, because in floating point 0.7 - 0.2 is less than 0.5. */
export const isShorterThanAClip = (startSeconds: number, endSeconds: number): boolean =>
  Math.round((endSeconds - startSeconds) * 1e6) < MIN_CLIP_SECONDS * 1e6;

export const addClipTooShort = (input: Path, problems: Problems): void =>
  problems.add(input, `clip must be at least ${MIN_CLIP_SECONDS} seconds long`);

/**
 * Returns the URL as given but without `user:password@`, which is used for fetching and never
 * shown.
 */
export const hideCredentials = (settings: object): { readonly url?: string } =>
  'url' in settings ? { ...settings, url: String(settings.url).replace(/^(https?:\/\/)[^/?#]*@/i, '$1') } : settings;
