/** Characters of CEA-608 (tables 50 to 52 and annex I). */

/** What differs from ASCII. */
const BASIC: Readonly<Record<number, string>> = {
  39: '’',
  42: 'á',
  92: 'é',
  94: 'í',
  95: 'ó',
  96: 'ú',
  123: 'ç',
  124: '÷',
  125: 'Ñ',
  126: 'ñ',
  127: '█',
};
/** From 0x30; the tenth is a transparent space. */
const SPECIAL = [...'®°½¿™¢£♪à èâêîôû'];
/** From 0x20. */
const SPANISH_FRENCH = [..."ÁÉÓÚÜü‘¡*'—©℠•“”ÀÂÇÈÊËëÎÏïÔÙùÛ«»"];
const PORTUGUESE_GERMAN = [...'ÃãÍÌìÒòÕõ{}\\^_|~ÄäÖöß¥¤¦ÅåØø┌┐└┘'];

/** The character of a byte from 0x20 to 0x7f. */
export const basicCharacter = (byte: number): string => BASIC[byte] ?? String.fromCharCode(byte);

/** The character of a code 0x11 0x30 to 0x3f. */
export const specialCharacter = (second: number): string => SPECIAL[second - 0x30] ?? '';

/** The character of a code 0x12 or 0x13 and 0x20 to 0x3f, which replaces the one before. */
export const extendedCharacter = (first: number, second: number): string =>
  (first === 0x12 ? SPANISH_FRENCH : PORTUGUESE_GERMAN)[second - 0x20] ?? '';
