import { useEffect } from 'react';

/** Keys that are pressed while something is typed belong to the text. */
const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** Does something when a key is pressed outside of text fields and dialogs. */
export const useShortcut = (key: string, run: () => void): void => {
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.key !== key || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (isTyping(event.target) || document.querySelector('[role=dialog], [role=alertdialog]')) return;
      event.preventDefault();
      run();
    };
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  }, [key, run]);
};
