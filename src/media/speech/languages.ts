/** The language codes of the Whisper models. */
const WHISPER_LANGUAGES = (
  'en zh de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el ms cs ro da hu ta no th ur hr bg lt la mi ml cy sk ' +
  'te fa lv bn sr az sl kn et mk br eu is hy ne mn bs kk sq sw gl mr pa si km sn yo so af oc ka be tg sd gu am yi lo uz ' +
  'fo ht ps tk nn mt sa lb my bo tl mg as tt haw ln ha ba jw su yue'
).split(' ');

/** Names that differ from those of `Intl.DisplayNames`, and codes that are no longer in use. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  castilian: 'es',
  valencian: 'ca',
  flemish: 'nl',
  mandarin: 'zh',
  moldavian: 'ro',
  moldovan: 'ro',
  myanmar: 'my',
  nynorsk: 'nn',
  sinhalese: 'si',
  tagalog: 'tl',
  pushto: 'ps',
  panjabi: 'pa',
  letzeburgesch: 'lb',
  'haitian creole': 'ht',
  jw: 'jv',
  iw: 'he',
};

let codes: ReadonlyMap<string, string> | undefined;
const readCodes = (): ReadonlyMap<string, string> => {
  const names = new Intl.DisplayNames('en', { type: 'language' });
  return new Map([
    ...WHISPER_LANGUAGES.flatMap((code): [string, string][] => [
      [code, code],
      [(names.of(code) ?? code).toLowerCase(), code],
    ]),
    ...Object.entries(OTHER_NAMES),
  ]);
};

/**
 * The code of a language that a recognizer reports as a code or an English name; undefined when it
 * is unknown.
 */
export const languageCodeOf = (name: string): string | undefined => {
  codes ??= readCodes();
  const normalized = name.trim().toLowerCase().replaceAll('_', '-');
  return codes.get(normalized) ?? codes.get(normalized.split('-')[0]!);
};

/** Language codes are case-insensitive (RFC 5646, 2.1.1). */
export const isSameLanguage = (a: string | null, b: string | null): boolean => a?.toLowerCase() === b?.toLowerCase();
