// Recognizes a WAV file with Debian's pocketsphinx and prints JSON as OpenAI-compatible services
// do: `pocketsphinx.mjs <audio>`.
import { execFileSync } from 'node:child_process';

const printed = execFileSync(
  'pocketsphinx_continuous',
  ['-infile', process.argv[2], '-time', 'yes', '-logfn', '/dev/null'],
  { encoding: 'utf8' },
);
const words = [...printed.matchAll(/^([a-z'.]+)(?:\(\d+\))? (\d+\.\d+) (\d+\.\d+) \d\.\d+$/gm)].map(
  ([, word, start, end]) => ({ word, start: Number(start), end: Number(end) }),
);
console.log(JSON.stringify({ text: words.map(({ word }) => word).join(' '), words }));
