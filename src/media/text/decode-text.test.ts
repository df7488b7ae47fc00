import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeText } from './decode-text.js';

/**
 * The bytes of every character of an encoding, found by decoding all values; one byte where
 * possible, else two.
 */
const characters = (encoding: string): ReadonlyMap<string, number[]> => {
  const decoder = new TextDecoder(encoding);
  const all = Array.from({ length: 256 }, (_, byte) => [byte]);
  const pairs = /jis|euc|gb|big5/.test(encoding)
    ? all.slice(0x81, 0xff).flatMap(([first]) => all.slice(0x40).map(([second]) => [first!, second!]))
    : [];
  const known = new Map<string, number[]>();
  for (const bytes of [...all, ...pairs]) {
    const text = decoder.decode(Uint8Array.from(bytes));
    if ([...text].length === 1 && text !== '\uFFFD' && !known.has(text)) known.set(text, bytes);
  }
  // The decoder may lack these characters of windows-1252.
  if (encoding === 'windows-1252') for (const [at, mark] of [...'‘’“”•–—'].entries()) known.set(mark, [0x91 + at]);
  return known;
};

const encode = (text: string, encoding: string): Uint8Array => {
  const known = characters(encoding);
  return Uint8Array.from(
    [...text].flatMap((character) => {
      const bytes = known.get(character);
      if (!bytes) throw new Error(`${encoding} has no ${character}`);
      return bytes;
    }),
  );
};

const subtitles = (lines: readonly string[]): string =>
  lines.map((line, at) => `${at + 1}\r\n00:00:0${at},000 --> 00:00:0${at},900\r\n${line}\r\n\r\n`).join('');

const RUSSIAN = ['Где ты был вчера вечером? Я искал тебя везде.', 'Мне всё равно, ответила она и пожала плечами.'];
const JAPANESE = ['昨日の夜はどこにいたの？ずっと探していたんだよ。', '夜明け前にここを出なければならない。'];
const POLISH = ['Zażółć gęślą jaźń. Gdzie byłeś wczoraj wieczorem?', 'Wszystko będzie dobrze, powiedziała cicho.'];
const GERMAN = ['Das Mädchen läuft über die große Straße zur Küche.', 'Schöne Grüße, sagte er – und ging.'];

test.each<[string, readonly string[]]>([
  ['windows-1252', GERMAN],
  ['windows-1252', ['Où étais-tu hier ? Je t’ai cherché partout, même à la gare.', 'Ça m’est égal, répondit-elle.']],
  ['iso-8859-15', ['Wo warst du gestern? Ich habe dich überall gesucht.', 'Das Mädchen läuft über die Straße.']],
  ['windows-1250', ['Příliš žluťoučký kůň úpěl ďábelské ódy.', 'Kde jsi byl včera večer? Hledal jsem tě všude.']],
  ['iso-8859-2', POLISH],
  ['windows-1251', RUSSIAN],
  ['koi8-r', RUSSIAN],
  ['windows-1253', ['Πού ήσουν χθες το βράδυ; Σε έψαχνα παντού.', 'Δεν με νοιάζει, απάντησε εκείνη.']],
  ['windows-1254', ['Dün akşam neredeydin? Seni her yerde aradım.', 'Umurumda değil, dedi ve omuz silkti.']],
  ['windows-1255', ['איפה היית אתמול בערב? חיפשתי אותך בכל מקום.', 'לא אכפת לי, היא ענתה ומשכה בכתפיה.']],
  ['windows-1256', ['أين كنت مساء أمس؟ بحثت عنك في كل مكان.', 'لا يهمني، أجابت وهزت كتفيها.']],
  ['shift_jis', JAPANESE],
  ['euc-jp', JAPANESE],
  ['euc-kr', ['어제 저녁에 어디 있었어? 여기저기 찾아다녔어.', '난 상관없어, 그녀가 대답했다.']],
  ['gb18030', ['你昨天晚上在哪里？我到处找你。', '我们必须在天亮之前离开这里。']],
  ['big5', ['你昨天晚上在哪裡？我到處找你。', '我們必須在天亮之前離開這裡。']],
])('%s: %j', (encoding, lines) => {
  const text = subtitles(lines);
  expect(decodeText(encode(text, encoding))).toBe(text);
});

const swapped = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16();

test.each<[string, Buffer]>([
  ['UTF-8', Buffer.from(subtitles(RUSSIAN))],
  ['UTF-8 with a mark', Buffer.from(`\uFEFF${subtitles(RUSSIAN)}`)],
  ['UTF-16 little-endian', Buffer.from(subtitles(RUSSIAN), 'utf16le')],
  ['UTF-16 little-endian with a mark', Buffer.from(`\uFEFF${subtitles(RUSSIAN)}`, 'utf16le')],
  ['UTF-16 big-endian', swapped(subtitles(RUSSIAN))],
  ['UTF-16 big-endian with a mark', swapped(`\uFEFF${subtitles(RUSSIAN)}`)],
])('%s', (_, bytes) => {
  expect(decodeText(bytes)).toBe(subtitles(RUSSIAN));
});

test('any bytes give a text', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      expect(typeof decodeText(bytes)).toBe('string');
    }),
    { numRuns: 1000 },
  );
});

test('any Unicode text comes back', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 50 }), (line) => {
      const text = subtitles([line.replaceAll('\0', '')]);
      expect(decodeText(Buffer.from(text))).toBe(text);
      expect(decodeText(Buffer.from(`\uFEFF${text}`, 'utf16le'))).toBe(text);
    }),
    { numRuns: 500 },
  );
});
