import { element } from './page-data.js';

/** What each key does, as viewers read it. `keys.ts` has the actions. */
const HELP = [
  ['Space, K', 'Play or pause'],
  ['J, L', 'Back or forward 10 seconds'],
  ['←, →', 'Back or forward 5 seconds; 10 with Shift'],
  ['0 to 9', 'Jump to 0 % to 90 %'],
  ['↑, ↓', 'Volume'],
  ['M', 'Mute'],
  ['C', 'Captions'],
  ['F', 'Full screen'],
  ['I', 'Picture in picture'],
  ['<, >', 'Slower or faster'],
  ['?', 'This list'],
] as const;

/** Fills the list of keys; returns what opens and closes it. */
export const addHelp = (): (() => void) => {
  const entry = (tag: 'dt' | 'dd', text: string): HTMLElement =>
    Object.assign(document.createElement(tag), { textContent: text });
  element('keys').replaceChildren(...HELP.flatMap(([keys, text]) => [entry('dt', keys), entry('dd', text)]));
  return () => element('help').togglePopover();
};
