import { Play, Trash2 } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import type { Cue } from '../../../api/tracks';
import { formatCueTime, moveTime, parseCueTime, problemOf, shownText } from '../../../lib/cues';
import { Button } from '../../../ui/button';
import { TextArea, TextField } from '../../../ui/field';

/** What one key moves a time or a cue by; more with Shift. */
export const stepOf = ({ shiftKey }: { readonly shiftKey: boolean }): number => (shiftKey ? 0.5 : 0.1);

interface TimeFieldProps {
  readonly label: string;
  readonly value: number;
  readonly duration: number;
  readonly onChange: (seconds: number) => void;
}

/** A time that is typed or moved with the arrow keys. */
const TimeField = ({ label, value, duration, onChange }: TimeFieldProps): ReactNode => {
  const [typed, setTyped] = useState<string>();
  const seconds = typed === undefined ? value : parseCueTime(typed);
  const accept = (): void => {
    if (typed === undefined || seconds === undefined) return;
    setTyped(undefined);
    onChange(Math.min(seconds, duration));
  };
  return (
    <TextField
      label={label}
      role="spinbutton"
      aria-valuenow={value}
      aria-valuetext={formatCueTime(value)}
      inputMode="decimal"
      autoComplete="off"
      value={typed ?? formatCueTime(value)}
      error={seconds === undefined ? 'Write a time such as 1:02.500.' : undefined}
      onChange={({ target }) => setTyped(target.value)}
      onBlur={accept}
      onKeyDown={(event) => {
        if (event.key === 'Enter') accept();
        if (event.altKey || (event.key !== 'ArrowUp' && event.key !== 'ArrowDown')) return;
        event.preventDefault();
        setTyped(undefined);
        const step = stepOf(event);
        onChange(moveTime(seconds ?? value, event.key === 'ArrowUp' ? step : -step, duration));
      }}
    />
  );
};

interface CueFieldsProps {
  readonly cue: Cue;
  readonly duration: number;
  readonly onChange: (change: Partial<Cue>) => void;
  readonly onPlay: () => void;
  readonly onDelete: () => void;
}

/** The cue that is edited. */
export const CueFields = ({ cue, duration, onChange, onPlay, onDelete }: CueFieldsProps): ReactNode => (
  <div className="cue-fields">
    <div className="form-row">
      <TimeField
        label="Start"
        value={cue.start_time}
        duration={duration}
        onChange={(seconds) => onChange({ start_time: seconds })}
      />
      <TimeField
        label="End"
        value={cue.end_time}
        duration={duration}
        onChange={(seconds) => onChange({ end_time: seconds })}
      />
    </div>
    <TextArea
      label="Text"
      rows={3}
      value={shownText(cue.text)}
      error={problemOf(cue)}
      onChange={({ target }) => onChange({ text: target.value })}
    />
    <div className="form-actions">
      <Button onClick={onPlay}>
        <Play aria-hidden />
        Play
      </Button>
      <Button look="delete" onClick={onDelete}>
        <Trash2 aria-hidden />
        Delete the cue
      </Button>
    </div>
  </div>
);
