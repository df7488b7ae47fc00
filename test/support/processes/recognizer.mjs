// Stands in for a speech recognizer:
// `recognizer.mjs <log> <manner> <audio> [language] [phrases] [output]`. It tells where it hears
// something, three words a piece, and notes each call in the log.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { getPriority } from 'node:os';

const [log, manner, audio, language = '', phrases = '', output] = process.argv.slice(2);
const wave = readFileSync(audio);
const seconds = (wave.length - 44) / 32_000;
appendFileSync(
  log,
  `${JSON.stringify({ audio, language, phrases, seconds, priority: getPriority(), pid: process.pid, env: Object.keys(process.env) })}\n`,
);

/** Parts of a tenth of a second that are not silent, joined when they touch. */
const heard = [];
for (let at = 0; at < seconds; at += 0.1) {
  let peak = 0;
  for (let i = 44 + Math.floor(at * 16_000) * 2; i < Math.min(wave.length, 44 + (at + 0.1) * 32_000) - 1; i += 2)
    peak = Math.max(peak, Math.abs(wave.readInt16LE(i)));
  if (peak < 500) continue;
  const last = heard.at(-1);
  if (last && at - last.end < 0.15) last.end = at + 0.1;
  else heard.push({ start: at, end: at + 0.1 });
}
const stamp = (time, comma) => {
  const text = new Date(Math.round(time * 1000)).toISOString().slice(11, 23);
  return comma ? text.replace('.', ',') : text;
};
const cues = (comma) =>
  heard
    .map(({ start, end }, at) => `${at + 1}\n${stamp(start, comma)} --> ${stamp(end, comma)}\nthree spoken words\n`)
    .join('\n');
const manners = {
  srt: () => console.log(cues(true)),
  vtt: () => console.log(`WEBVTT\n\n${cues(false)}`),
  json: () =>
    console.log(
      JSON.stringify({
        language: 'french',
        language_probability: 0.75,
        segments: heard.map(({ start, end }) => ({ start, end, text: ' trois mots dits' })),
      }),
    ),
  output: () => {
    console.log('loading a model ...');
    writeFileSync(`${output}.srt`, cues(true));
  },
  silent: () => undefined,
  fail: () => {
    console.error('out of luck');
    process.exit(3);
  },
  nonsense: () => console.log('<html>no</html>'),
  flood: () => {
    const more = () => process.stdout.write('x'.repeat(2 ** 20), more);
    more();
  },
  /** Waits for its end at the call whose number is in the file. */
  held: () => {
    const call = readFileSync(log, 'utf8').trim().split('\n').length;
    const hold = existsSync(`${log}.hold`) && Number(readFileSync(`${log}.hold`, 'utf8')) === call;
    manners[hold ? 'hang' : 'json']();
  },
  hang: () => setInterval(() => undefined, 1000),
  killed: () => process.kill(process.pid, 'SIGKILL'),
  /** What the file says for the language. */
  told: () => manners[JSON.parse(readFileSync(`${log}.manners`, 'utf8'))[language]](),
};
manners[manner]();
