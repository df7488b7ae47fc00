import { statSync } from 'node:fs';
import type { MediaJob } from './protocol.js';

/** Of a job that reads what a file says of itself: tables that name billions of samples take hours and give nothing. */
const MAX_HEADER_CPU_MS = 10_000;
/** Reading the packets of a file through takes a few seconds for each of these. */
const CPU_MS_PER_GIB = 20_000;

/** CPU time that a job may use, ms; undefined for jobs that only their deadline ends. */
export const cpuLimitOf = (job: MediaJob, headerCpuMs = MAX_HEADER_CPU_MS): number | undefined => {
  if (job.kind === 'probe') return headerCpuMs;
  if (job.kind !== 'index') return undefined;
  const { size = 0 } = statSync(job.source.path, { throwIfNoEntry: false }) ?? {};
  return headerCpuMs + Math.round((size / 2 ** 30) * CPU_MS_PER_GIB);
};
