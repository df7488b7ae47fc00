// RFC 5646 section 2.1, without the reserved four-letter primary subtags and the longer ones, which
// were never assigned: they would accept `auto` and `english` as languages.
const language = '[a-z]{2,3}(?:-[a-z]{3}){0,3}';
const script = '(?:-[a-z]{4})?';
const region = '(?:-(?:[a-z]{2}|[0-9]{3}))?';
const variants = '((?:-(?:[a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*)';
const extensions = '((?:-[0-9a-wy-z](?:-[a-z0-9]{2,8})+)*)';
const privateUse = 'x(?:-[a-z0-9]{1,8})+';
const LANGUAGE_TAG = new RegExp(
  `^(?:${language}${script}${region}${variants}${extensions}(?:-${privateUse})?|${privateUse})$`,
);

/** Tags of RFC 3066 that the grammar does not cover (RFC 5646, `irregular`). */
const IRREGULAR = new Set(
  (
    'en-gb-oed i-ami i-bnn i-default i-enochian i-hak i-klingon i-lux i-mingo i-navajo i-pwn i-tao i-tay i-tsu ' +
    'sgn-be-fr sgn-be-nl sgn-ch-de'
  ).split(' '),
);

const distinct = (parts: readonly string[]): boolean => new Set(parts).size === parts.length;

/**
 * Checks that a tag is well-formed (RFC 5646 section 2.2.9): it follows the grammar and repeats no
 * variant or extension singleton.
 */
export const isLanguageCode = (text: string): boolean => {
  const tag = text.toLowerCase();
  if (IRREGULAR.has(tag)) return true;
  const match = LANGUAGE_TAG.exec(tag);
  if (!match) return false;
  const [, variantPart = '', extensionPart = ''] = match;
  const singletons = extensionPart.split('-').filter((part) => part.length === 1);
  return distinct(variantPart.split('-').slice(1)) && distinct(singletons);
};
