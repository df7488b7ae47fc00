import { fileURLToPath } from 'node:url';

/**
 * The embedded database is WebAssembly. Optimizing it takes a second in each test file and pays off
 * only after minutes.
 */
export const unoptimizedWasm = ['--liftoff-only'] as const;

/**
 * The same for programs below another one, such as npm. A server starts and stops with 0.9 instead
 * of 2.2 s of CPU time.
 */
export const unoptimizedWasmBelow = {
  NODE_OPTIONS: `--require "${fileURLToPath(new URL('./unoptimized-wasm.cjs', import.meta.url))}"`,
} as const;

/**
 * For processes that live for seconds. JavaScript is not optimized either, and the young generation
 * holds what a start allocates: a server starts and stops with an eighth less CPU time. Nor is the
 * old generation collected before it is large.
 */
export const shortLived = [
  ...unoptimizedWasm,
  '--no-opt',
  '--min-semi-space-size=16',
  '--initial-old-space-size=256',
] as const;
