import { statSync } from 'node:fs';
import type { MediaJob } from './protocol.js';

/**
 * For a job that reads a file's headers: tables that declare billions of samples would take hours without a result.
 */
const MAX_HEADER_CPU_MS = 10_000;
/** Reading the packets of a file takes a few seconds per GiB. */
const CPU_MS_PER_GIB = 20_000;

/** The CPU time that a job may use, in ms; undefined for jobs that only have a deadline. */
export const cpuLimitOf = (job: MediaJob, headerCpuMs = MAX_HEADER_CPU_MS): number | undefined => {
  if (job.kind === 'probe') return headerCpuMs;
  if (job.kind !== 'index') return undefined;
  const { size = 0 } = statSync(job.source.path, { throwIfNoEntry: false }) ?? {};
  return headerCpuMs + Math.round((size / 2 ** 30) * CPU_MS_PER_GIB);
};
