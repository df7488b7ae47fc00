import { useEffect, useMemo, useSyncExternalStore } from 'react';
import type { Cue } from '../../../api/tracks';
import { byTime } from '../../../lib/cues';

export interface EditedCue extends Cue {
  /** The same while its times and its text change. */
  readonly key: number;
}

let lastKey = 0;
const withKey = (cue: Cue): EditedCue => {
  lastKey++;
  return { ...cue, key: lastKey };
};

interface Draft {
  readonly cues: readonly EditedCue[];
  /** What is stored. */
  readonly saved: readonly EditedCue[];
  /** What is being sent to the server. */
  readonly sent?: readonly EditedCue[];
}

/**
 * The cues of each track that was changed or saved. They outlive the editor: another screen may be
 * visited in between.
 */
const drafts = new Map<string, Draft>();
const listeners = new Set<() => void>();
const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};
const set = (trackId: string, draft: Draft): void => {
  drafts.set(trackId, draft);
  for (const listener of listeners) listener();
};

const firstDraft = (stored: readonly Cue[]): Draft => {
  const cues = stored.map(withKey);
  return { cues, saved: cues };
};

/** Call it when saving failed: the changes stay. */
export const keepUnsaved = (trackId: string): void => {
  const { cues, saved } = drafts.get(trackId)!;
  set(trackId, { cues, saved });
};

/**
 * Moves the cues to the track that replaces theirs. Some may have been changed since `saved` was
 * sent.
 */
export const moveSaved = (trackId: string, newTrackId: string, saved: readonly EditedCue[]): void => {
  const { cues } = drafts.get(trackId)!;
  const sorted = saved.toSorted(byTime);
  drafts.delete(trackId);
  set(newTrackId, { cues: cues === saved ? sorted : cues, saved: sorted });
};

/** The cues of a track while they are edited. */
export const useCues = (trackId: string, stored: readonly Cue[]) => {
  const first = useMemo(() => firstDraft(stored), [stored]);
  const draft = useSyncExternalStore(subscribe, () => drafts.get(trackId)) ?? first;
  const { cues, saved, sent } = draft;
  const isChanged = cues !== saved;
  useEffect(() => {
    if (!isChanged) return;
    const warn = (event: BeforeUnloadEvent): void => event.preventDefault();
    window.addEventListener('beforeunload', warn);
    return () => window.removeEventListener('beforeunload', warn);
  }, [isChanged]);
  const edit = (next: (cues: readonly EditedCue[]) => readonly EditedCue[]): void => {
    const latest = drafts.get(trackId) ?? first;
    set(trackId, { ...latest, cues: next(latest.cues) });
  };
  return {
    cues,
    isChanged,
    isSaving: sent !== undefined,
    /** Whether all changes are being saved. */
    isAllSent: sent === cues,
    change: (key: number, change: Partial<Cue>): void =>
      edit((all) => all.map((cue) => (cue.key === key ? { ...cue, ...change } : cue))),
    add: (cue: Cue): EditedCue => {
      const added = withKey(cue);
      edit((all) => [...all, added].sort(byTime));
      return added;
    },
    remove: (key: number): void => edit((all) => all.filter((cue) => cue.key !== key)),
    /** What is being saved stays. */
    discard: (): void => {
      const latest = drafts.get(trackId) ?? first;
      set(trackId, { ...latest, cues: latest.sent ?? latest.saved });
    },
    /** Notes what is sent, until `keepUnsaved` or `moveSaved` is called. */
    send: (): void => set(trackId, { ...draft, sent: cues }),
  };
};
