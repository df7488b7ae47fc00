// Runs the benchmarks, or those named: `npm run bench -- segment-latency serve-cached`. Every
// figure is compared with a reference measured in the same run, because absolute numbers depend
// more on the machine than on Kinora.
import { cpus, loadavg, release } from 'node:os';
import { hasProgram, versionOf } from './support/programs.mjs';

const names = [
  'time-to-ready',
  'early-play',
  'feature-cost',
  'segment-latency',
  's3-cold',
  'hedge',
  'play-through',
  'quality',
  'av1',
  'several-viewers',
  'live',
  'live-cluster',
  'audio',
  'images',
  'speech',
  'speech-memory',
  'static-rendition',
  'serve-cached',
  'signed-segments',
  'drm',
  'api',
  'webhooks',
  'beacons',
  'audience',
  'list-uploads',
  'hostile-connections',
  'upload',
  'import',
  'player-page',
  'memory',
  'database-memory',
  'soak',
  'live-soak',
];

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`Unknown benchmark: ${unknown.join(', ')}. Available: ${names.join(', ')}.`);
  process.exit(2);
}

const [cpu] = cpus();
console.log(`${cpus().length} x ${cpu.model.trim()}, Linux ${release()}, Node.js ${process.version}`);
console.log(`ffmpeg ${versionOf('ffmpeg', '-version')}, nginx ${versionOf('nginx', '-v')}`);
const [load] = loadavg();
console.log(
  `load before the start ${load.toFixed(2)}${load > 0.5 ? ': the machine is NOT quiet, look at ratios only' : ''}`,
);

let skipped = 0;
for (const name of wanted.length > 0 ? wanted : names) {
  const { title, needs, run } = await import(`./${name}.mjs`);
  console.log(`\n## ${name}: ${title}\n`);
  const missing = needs.filter((program) => !hasProgram(program));
  if (missing.length > 0) {
    skipped += 1;
    console.log(`SKIPPED: ${missing.join(' and ')} not found. apt-get install -y ffmpeg nginx-light`);
    continue;
  }
  const startedMs = performance.now();
  await run();
  console.log(`\n(${((performance.now() - startedMs) / 1000).toFixed(0)} s)`);
}
if (skipped > 0) console.log(`\n${skipped} SKIPPED because the reference is not installed.`);
