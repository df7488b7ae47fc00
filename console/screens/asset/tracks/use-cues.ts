import { useEffect, useState } from 'react';
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
}

/** Changes that are not saved, by track: another screen may be visited in between. */
const drafts = new Map<string, Draft>();

const firstDraft = (stored: readonly Cue[]): Draft => {
  const cues = stored.map(withKey);
  return { cues, saved: cues };
};

/** The cues of a track while they are edited. */
export const useCues = (trackId: string, stored: readonly Cue[]) => {
  const [draft, setDraft] = useState(() => drafts.get(trackId) ?? firstDraft(stored));
  const { cues, saved } = draft;
  const isChanged = cues !== saved;
  useEffect(() => {
    if (isChanged) drafts.set(trackId, draft);
  }, [trackId, draft, isChanged]);
  useEffect(() => {
    if (!isChanged) return;
    const warn = (event: BeforeUnloadEvent): void => event.preventDefault();
    window.addEventListener('beforeunload', warn);
    return () => window.removeEventListener('beforeunload', warn);
  }, [isChanged]);
  const edit = (next: (cues: readonly EditedCue[]) => readonly EditedCue[]): void =>
    setDraft((previous) => ({ ...previous, cues: next(previous.cues) }));
  return {
    cues,
    isChanged,
    change: (key: number, change: Partial<Cue>): void =>
      edit((all) => all.map((cue) => (cue.key === key ? { ...cue, ...change } : cue))),
    add: (cue: Cue): EditedCue => {
      const added = withKey(cue);
      edit((all) => [...all, added].sort(byTime));
      return added;
    },
    remove: (key: number): void => edit((all) => all.filter((cue) => cue.key !== key)),
    discard: (): void => {
      drafts.delete(trackId);
      setDraft({ cues: saved, saved });
    },
    /** @param now the cues that are stored; others may have been changed since they were sent */
    markSaved: (now: readonly EditedCue[]): void => {
      drafts.delete(trackId);
      setDraft((previous) => {
        const sorted = now.toSorted(byTime);
        return { cues: previous.cues === now ? sorted : previous.cues, saved: sorted };
      });
    },
  };
};
