// Everything that can be said about the code without running it. Each step prints its time; all run
// even when one fails.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));

const run = (name, command, ...args) =>
  new Promise((resolve) => {
    const started = performance.now();
    let output = '';
    const child = spawn(command, args, { env: { ...process.env, PATH: `node_modules/.bin:${process.env.PATH}` } });
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (output += chunk));
    child.on('error', (error) => (output += error.message));
    child.on('close', (status) => {
      const seconds = ((performance.now() - started) / 1000).toFixed(1).padStart(5);
      console.log(`${status === 0 ? 'ok    ' : 'FAILED'} ${seconds} s  ${name}`);
      resolve({ name, failed: status !== 0, output });
    });
  });

// First, because the tests' types come from dist/ and the documentation from the compiled table of
// options.
const steps = [await run('types of the product', 'node', 'scripts/build.mjs')];
steps.push(
  ...(await Promise.all([
    run('types of the tests', 'tsc', '-p', 'tsconfig.test.json'),
    run('types of the console', 'tsc', '-p', 'console/tsconfig.json'),
    run('types of the player page', 'tsc', '-p', 'player/tsconfig.json'),
    run('lint and format', 'biome', 'check', '--error-on-warnings', '.'),
    run('dead code', 'knip', '--no-progress'),
    run('who imports whom', 'depcruise', 'src', 'test', 'console', '--config', '.dependency-cruiser.cjs'),
    run('folders without cycles', 'depcruise', 'src', '--config', '.dependency-folders.cjs'),
    run('mechanical rules', 'node', 'scripts/check-rules.mjs'),
    run('documents match the code', 'node', 'scripts/generate-docs.mjs', '--check'),
  ])),
);

const failed = steps.filter((step) => step.failed);
for (const step of failed) console.error(`\n--- ${step.name} ---\n${step.output.trim()}`);
process.exitCode = failed.length > 0 ? 1 : 0;
