import { type MediaPriority, mediaPriority } from './media-pool.js';

/** What the scheduler needs to know of a job that has not ended. */
export interface ScheduledJob {
  readonly state: 'waiting' | 'running' | 'paused';
  readonly priority: MediaPriority;
  /** Order of arrival. */
  readonly sequence: number;
}

export type Step<J> = { readonly action: 'start' | 'resume' | 'pause'; readonly job: J };

const moreUrgentFirst = (a: ScheduledJob, b: ScheduledJob): number =>
  a.priority - b.priority || Number(b.state === 'paused') - Number(a.state === 'paused') || a.sequence - b.sequence;

/**
 * Which jobs to start, resume or pause now so that the most urgent ones run in `slots` places. Background work leaves the last
 * place free (when there is more than one), so that a viewer finds a warm process; work that somebody will wait for in a moment
 * takes every place. A job that finds no place pauses the least urgent running one that is less urgent
 * than itself: pausing keeps the work done so far, whereas killing could starve a long job forever. Recognition of speech
 * also stands still while anything is made for a viewer, because the processor that it takes is missed elsewhere.
 */
export const schedule = <J extends ScheduledJob>(jobs: Iterable<J>, slots: number): Step<J>[] => {
  const present = [...jobs];
  const isWatched = present.some(({ priority }) => priority <= mediaPriority.readAhead);
  const mayRun = ({ priority }: J): boolean => !isWatched || priority < mediaPriority.speech;
  const all = present.filter(mayRun).sort(moreUrgentFirst);
  const running = all.filter((job) => job.state === 'running');
  const steps: Step<J>[] = present
    .filter((job) => job.state === 'running' && !mayRun(job))
    .map((job) => ({ action: 'pause', job }));
  for (const job of all) {
    if (job.state === 'running') continue;
    const isBackground = job.priority >= mediaPriority.background;
    const hasPlace = running.length < (isBackground ? Math.max(slots - 1, 1) : slots);
    if (!hasPlace) {
      const victim = running.at(-1);
      if (victim === undefined || victim.priority <= job.priority) continue;
      running.pop();
      steps.push({ action: 'pause', job: victim });
    }
    steps.push({ action: job.state === 'paused' ? 'resume' : 'start', job });
    running.push(job);
    running.sort(moreUrgentFirst);
  }
  return steps;
};
