import { Search } from 'lucide-react';
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react';
import { useShortcut } from './use-shortcut';

interface SearchFieldProps {
  readonly label: string;
  readonly value: string;
  /** Called when typing pauses. */
  readonly onChange: (value: string) => void;
}

const PAUSE_MS = 250;

/** `/` goes to it from anywhere; Esc empties it. */
export const SearchField = ({ label, value, onChange }: SearchFieldProps): ReactNode => {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(value);
  useShortcut(
    '/',
    useCallback(() => input.current?.focus(), []),
  );
  // The address may change by itself: back, or a link to the list.
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onChange(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return (
    <div className="search">
      <Search aria-hidden />
      <input
        ref={input}
        className="input"
        type="search"
        aria-label={label}
        aria-keyshortcuts="/"
        placeholder={label}
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return;
          event.preventDefault();
          if (text === '') input.current?.blur();
          setText('');
        }}
      />
      {text === '' && <kbd aria-hidden>/</kbd>}
    </div>
  );
};
