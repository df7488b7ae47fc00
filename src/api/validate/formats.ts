import { assetIdOfUrl, isWebUrl } from '../../domain/requests/inputs.js';
import { isLanguageCode } from '../../domain/requests/language-code.js';
import { bucketObjectOf } from '../../lib/bucket-url.js';

const OVERLAY_LENGTH = /^(-?\d+(?:\.\d+)?)(?:%|px)$/;
const OPACITY = /^(\d+(?:\.\d+)?)%$/;

/** `rtmp:`, `rtmps:` or `srt:` with a host. */
const SIMULCAST_URL = /^(?:rtmps?|srt):\/\/[^\s\\/?#]+(?:[/?][^\s\\]*)?$/i;

const MAX_ADDRESS_CHARACTERS = 2048;

const MAX_PHRASE_CHARACTERS = 32;

/** Labels of a host name (RFC 1123, 2.1), alone or after `*.`; a star stands for every host. */
const DOMAIN_PATTERN =
  /^(?:\*|(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)$/i;
const MAX_DOMAIN_CHARACTERS = 253;

const isDomainPattern = (text: string): boolean => text.length <= MAX_DOMAIN_CHARACTERS && DOMAIN_PATTERN.test(text);

const MAX_CAPTION_PHRASE_CHARACTERS = 49;
const MAX_CAPTION_PHRASE_WORDS = 5;

const isCaptionPhrase = (text: string): boolean =>
  text.trim() !== '' &&
  [...text].length <= MAX_CAPTION_PHRASE_CHARACTERS &&
  text.trim().split(/\s+/).length <= MAX_CAPTION_PHRASE_WORDS &&
  !/[<>{}[\]\\]/.test(text);

const overlayLength = (text: string): string | undefined =>
  OVERLAY_LENGTH.test(text) ? undefined : 'must be a percentage or pixel value';

const overlaySize = (text: string): string | undefined =>
  overlayLength(text) ?? (Number.parseFloat(text) > 0 ? undefined : 'must be greater than 0');

/**
 * The `format` names of the schemas. Each function returns what is wrong with a string, or
 * undefined if it is valid.
 */
export const formats: Readonly<Record<string, (text: string) => string | undefined>> = {
  'input-url': (text) =>
    isWebUrl(text) || assetIdOfUrl(text) || bucketObjectOf(text) ? undefined : 'must be a valid URL',
  'source-url': (text) => (isWebUrl(text) || assetIdOfUrl(text) ? undefined : 'must be a valid URL'),
  'image-url': (text) => (text === '' || isWebUrl(text) ? undefined : 'must be a valid URL'),
  'simulcast-url': (text) => (SIMULCAST_URL.test(text) && URL.canParse(text) ? undefined : 'must be a valid URL'),
  'webhook-address': (text) =>
    isWebUrl(text) && [...text].length <= MAX_ADDRESS_CHARACTERS ? undefined : 'must be a valid URL',
  'vocabulary-phrase': (text) =>
    text !== '' && [...text].length <= MAX_PHRASE_CHARACTERS
      ? undefined
      : `must be between 1 and ${MAX_PHRASE_CHARACTERS} characters`,
  'caption-phrase': (text) =>
    isCaptionPhrase(text)
      ? undefined
      : `must have at most ${MAX_CAPTION_PHRASE_CHARACTERS} characters and ${MAX_CAPTION_PHRASE_WORDS} words, without < > { } [ ] \\`,
  'caption-term': (text) =>
    text.trim() !== '' && !/[<>\p{Cc}\p{Cf}]/u.test(text) && text.normalize('NFC') === text
      ? undefined
      : 'must be visible text without < and >',
  'domain-pattern': (text) => (isDomainPattern(text) ? undefined : 'is not a valid domain'),
  'bcp-47': (text) => (isLanguageCode(text) ? undefined : 'must be a valid BCP 47 language code'),
  'overlay-length': overlayLength,
  'overlay-size': overlaySize,
  'overlay-opacity': (text) =>
    Number(OPACITY.exec(text)?.[1] ?? 101) <= 100 ? undefined : 'must be a percentage between 0% and 100%',
};
