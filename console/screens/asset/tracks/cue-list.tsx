import { type KeyboardEvent, memo, type ReactNode, useEffect, useRef, useState } from 'react';
import type { Cue } from '../../../api/tracks';
import { formatCueTime, problemOf, shownText } from '../../../lib/cues';
import { CueFields } from './cue-fields';
import type { EditedCue } from './use-cues';

interface CueActions {
  readonly onSelect: (cue: EditedCue) => void;
  readonly onChange: (cue: EditedCue, change: Partial<Cue>) => void;
  readonly onPlay: (cue: Cue) => void;
  readonly onDelete: (cue: EditedCue) => void;
}

interface CueListProps extends CueActions {
  readonly cues: readonly EditedCue[];
  readonly selected: number | undefined;
  readonly video: HTMLVideoElement | undefined;
  readonly duration: number;
}

/**
 * The cues in order; the selected one with fields. One of them is a stop of the Tab key, and arrows
 * go to the others.
 */
export const CueList = ({ cues, selected, video, duration, ...actions }: CueListProps): ReactNode => {
  const list = useRef<HTMLOListElement>(null);
  const playing = usePlayingTime(video);
  const latest = useRef({ cues, ...actions });
  useEffect(() => {
    latest.current = { cues, ...actions };
  });
  const reachable = cues.some(({ key }) => key === selected) ? selected : cues[0]?.key;
  useEffect(() => {
    list.current?.querySelector(`[data-key="${reachable}"]`)?.scrollIntoView({ block: 'nearest' });
  }, [reachable]);
  // The same function for all, so that a cue is drawn again only when it changes.
  const [go] = useState(() => (key: number, step: number): void => {
    const { cues: all, onSelect } = latest.current;
    const next = all[Math.max(0, Math.min(all.findIndex((cue) => cue.key === key) + step, all.length - 1))];
    if (!next) return;
    onSelect(next);
    list.current?.querySelector<HTMLElement>(`[data-key="${next.key}"] > button`)?.focus();
  });
  return (
    <ol ref={list} className="cues" aria-label="Cues">
      {cues.map((cue) => (
        <CueRow
          key={cue.key}
          cue={cue}
          isSelected={cue.key === selected}
          isReachable={cue.key === reachable}
          isPlaying={cue.start_time <= playing && playing < cue.end_time}
          go={go}
        >
          {cue.key === selected && (
            <CueFields
              cue={cue}
              duration={duration}
              onChange={(change) => actions.onChange(cue, change)}
              onPlay={() => actions.onPlay(cue)}
              onDelete={() => {
                const at = cues.indexOf(cue);
                const next = cues[at + 1] ?? cues[at - 1];
                if (next) go(next.key, 0);
                actions.onDelete(cue);
              }}
            />
          )}
        </CueRow>
      ))}
    </ol>
  );
};

interface CueRowProps {
  readonly cue: EditedCue;
  readonly isSelected: boolean;
  readonly isReachable: boolean;
  readonly isPlaying: boolean;
  /** Selects the cue that is so many steps behind the one with the key. */
  readonly go: (key: number, step: number) => void;
  readonly children: ReactNode;
}

const STEPS: Readonly<Record<string, number>> = {
  ArrowUp: -1,
  ArrowDown: 1,
  PageUp: -10,
  PageDown: 10,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

const CueRow = memo(({ cue, isSelected, isReachable, isPlaying, go, children }: CueRowProps): ReactNode => {
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = STEPS[event.key];
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    go(cue.key, step);
  };
  return (
    <li className="cue" data-key={cue.key} data-playing={isPlaying || undefined} data-wrong={problemOf(cue) && ''}>
      <button
        type="button"
        className="cue-button"
        aria-expanded={isSelected}
        tabIndex={isReachable ? 0 : -1}
        onClick={() => go(cue.key, 0)}
        onKeyDown={onKeyDown}
      >
        <span className="cue-time">
          {formatCueTime(cue.start_time)} – {formatCueTime(cue.end_time)}
        </span>
        <span className="cue-text">{shownText(cue.text) || 'No text'}</span>
      </button>
      {children}
    </li>
  );
});

/** The time that the player shows, as often as it says so. */
const usePlayingTime = (video: HTMLVideoElement | undefined): number => {
  const [seconds, setSeconds] = useState(-1);
  useEffect(() => {
    if (!video) return;
    const update = (): void => setSeconds(video.currentTime);
    const events = ['timeupdate', 'seeking', 'seeked'];
    for (const event of events) video.addEventListener(event, update);
    return () => {
      for (const event of events) video.removeEventListener(event, update);
    };
  }, [video]);
  return seconds;
};
