/**
 * Lower values run first. A segment that a viewer waits for always precedes background work.
 * `nextSegment`: what a player will request soon. It waits for what makes assets ready.
 */
export const mediaPriority = { viewer: 0, readAhead: 1, warmUp: 2, nextSegment: 3, background: 4, speech: 5 } as const;
export type MediaPriority = (typeof mediaPriority)[keyof typeof mediaPriority];

/** What the scheduler needs to know about a job that has not ended. */
export interface ScheduledJob {
  readonly state: 'waiting' | 'running' | 'paused';
  readonly priority: MediaPriority;
  /** Order of arrival. */
  readonly sequence: number;
}

export type Step<J> = { readonly action: 'start' | 'resume' | 'pause'; readonly job: J };

const moreUrgentFirst = (a: ScheduledJob, b: ScheduledJob): number =>
  a.priority - b.priority || Number(b.state === 'paused') - Number(a.state === 'paused') || a.sequence - b.sequence;

/** What makes assets and their files ready, in contrast to what viewers wait for. */
const isIngest = ({ priority }: ScheduledJob): boolean =>
  priority === mediaPriority.warmUp || priority === mediaPriority.background;

/**
 * Decides which jobs to start, resume or pause so that the most urgent ones run in `slots` slots.
 * Background work leaves the last slot free (when there is more than one), so that a viewer finds a
 * warm process; work that will soon be needed may take every slot. A job without a slot pauses the
 * least urgent running job that is less urgent than itself. Pausing keeps the work done so far,
 * whereas killing could starve a long job forever. Speech recognition also pauses while anything is
 * made for a viewer, because viewers' work needs the processor.
 *
 * One job of an ingest always runs, the most urgent one, beside the slots when viewers fill them:
 * they could fill them for hours.
 */
export const schedule = <J extends ScheduledJob>(jobs: Iterable<J>, slots: number): Step<J>[] => {
  const present = [...jobs];
  const isWatched = present.some(({ priority }) => priority <= mediaPriority.readAhead);
  const mayRun = ({ priority }: J): boolean => !isWatched || priority < mediaPriority.speech;
  const all = present.filter(mayRun).sort(moreUrgentFirst);
  const running = all.filter((job) => job.state === 'running');
  const beside = running.length > slots ? running.findLast(isIngest) : undefined;
  if (beside) running.splice(running.indexOf(beside), 1);
  const steps: Step<J>[] = present
    .filter((job) => job.state === 'running' && !mayRun(job))
    .map((job) => ({ action: 'pause', job }));
  for (const job of all) {
    if (job.state === 'running') continue;
    const isBackground = job.priority >= mediaPriority.background;
    const hasSlot = running.length < (isBackground ? Math.max(slots - 1, 1) : slots);
    if (!hasSlot) {
      const victim = running.at(-1);
      if (victim === undefined || victim.priority <= job.priority) continue;
      running.pop();
      steps.push({ action: 'pause', job: victim });
    }
    steps.push({ action: job.state === 'paused' ? 'resume' : 'start', job });
    running.push(job);
    running.sort(moreUrgentFirst);
  }
  const ofIngest = beside ?? steps.findLast(({ action, job }) => action === 'pause' && isIngest(job))?.job;
  const others = steps.filter(({ job }) => job !== ofIngest);
  const next = all.find((job) => job.state !== 'running' && isIngest(job));
  const pause: Step<J>[] = ofIngest ? [{ action: 'pause', job: ofIngest }] : [];
  if (running.some(isIngest)) return [...pause, ...others];
  if (ofIngest && (next === undefined || next.priority >= ofIngest.priority)) return others;
  return next ? [...pause, ...others, { action: next.state === 'paused' ? 'resume' : 'start', job: next }] : others;
};
