import { useEffect } from 'react';

/** Keys that are pressed while something is typed belong to the text. */
const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.matches('textarea, select, input:not([type=range], [type=checkbox])'));

/** Does something when a key is pressed outside of text fields and dialogs. */
export const useShortcut = (key: string, run: () => void): void => {
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== key || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented)
        return;
      // Not by its role, which messages have too.
      if (isTyping(event.target) || document.querySelector('.dialog')) return;
      event.preventDefault();
      run();
    };
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  }, [key, run]);
};
