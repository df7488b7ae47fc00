/**
 * Flags for processes that live for seconds, which take a fifth less CPU time with them: neither WebAssembly nor JavaScript
 * is optimized, and what a start allocates fits into the young generation.
 */
export const shortLived = ['--liftoff-only', '--no-opt', '--min-semi-space-size=16'] as const;
