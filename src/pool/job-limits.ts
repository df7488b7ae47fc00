import { readFileSync, statSync } from 'node:fs';
import type { MediaJob } from './protocol.js';
import { type MediaPriority, mediaPriority } from './scheduler.js';

/** Generous for the slowest machine: they end jobs that would never end. */
const DEADLINES_MS: Record<MediaJob['kind'], number> = {
  probe: 30_000,
  index: 15 * 60_000,
  'first-tracks': 30_000,
  'predict-index': 60_000,
  sanity: 60_000,
  complexity: 60_000,
  'video-segment': 60_000,
  'video-config': 30_000,
  'audio-chunk': 60_000,
  loudness: 3 * 3600_000,
  mezzanine: 30 * 60_000,
  concatenate: 30 * 60_000,
  remux: 3 * 3600_000,
  'embedded-text': 3 * 3600_000,
  'closed-captions': 3 * 3600_000,
  sample: 5 * 60_000,
  'overlay-image': 30_000,
  still: 60_000,
  animated: 2 * 60_000,
  storyboard: 5 * 60_000,
  'shot-scores': 30 * 60_000,
  'find-speech': 30 * 60_000,
  'speech-audio': 5 * 60_000,
  'recognize-speech': 60 * 60_000,
  'frame-quality': 10 * 60_000,
  // A broadcast ends after 12 hours; who feeds the job notices when it stands still.
  'live-encode': 13 * 3600_000,
  'live-audio': 13 * 3600_000,
  slate: 60_000,
};
/** Beside viewers, background work gets a tenth of a processor. */
const BACKGROUND_FACTOR = 10;

/**
 * For a job that reads a file's headers: tables that declare billions of samples would take hours
 * without a result.
 */
const MAX_HEADER_CPU_MS = 10_000;
/** Reading the packets of a file takes a few seconds per GiB. */
const CPU_MS_PER_GIB = 20_000;
const CPU_WATCH_MS = 250;

/** Linux reports times to programs in hundredths of a second (USER_HZ). */
const MS_PER_TICK = 10;

/** The wall-clock limit of a job in ms, without the time it is paused. */
export const defaultDeadlineMs = ({ kind }: MediaJob, priority: MediaPriority): number =>
  DEADLINES_MS[kind] * (priority >= mediaPriority.background ? BACKGROUND_FACTOR : 1);

/** The CPU time that a job may use, in ms; undefined for jobs that only have a deadline. */
export const cpuLimitOf = (job: MediaJob, headerCpuMs = MAX_HEADER_CPU_MS): number | undefined => {
  if (job.kind === 'probe' || job.kind === 'first-tracks') return headerCpuMs;
  if (job.kind !== 'index') return undefined;
  const { size = 0 } = statSync(job.source.path, { throwIfNoEntry: false }) ?? {};
  return headerCpuMs + Math.round((size / 2 ** 30) * CPU_MS_PER_GIB);
};

/** Calls `onOver` while the process has used more CPU time than the limit since this call. */
export const watchCpu = (pid: number, limitMs: number, onOver: () => void): NodeJS.Timeout => {
  const startMs = cpuTimeMs(pid);
  return setInterval(() => {
    const nowMs = cpuTimeMs(pid);
    if (startMs !== undefined && nowMs !== undefined && nowMs - startMs >= limitMs) onOver();
  }, CPU_WATCH_MS);
};

/** CPU time in ms of a process and of its running children; undefined without /proc. */
const cpuTimeMs = (pid: number): number | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name may contain any character. After it, `utime` and `stime` are fields 12 and 13
    // (proc_pid_stat(5)).
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const own = (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').match(/\d+/g) ?? [];
    return children.reduce((sum, child) => sum + (cpuTimeMs(Number(child)) ?? 0), own);
  } catch {
    // The process has ended, or the system is not Linux: only the deadline applies.
    return undefined;
  }
};
