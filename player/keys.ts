/** What keys do. */
export interface Actions {
  togglePlay(): void;
  toggleMute(): void;
  toggleText(): void;
  toggleFullscreen(): void;
  togglePip(): void;
  toggleHelp(): void;
  seekBy(seconds: number): void;
  /** From 0 to 1 of the video. */
  seekToShare(share: number): void;
  changeVolume(by: number): void;
  changeSpeed(steps: number): void;
}

const keyActions = (actions: Actions): Readonly<Record<string, (event: KeyboardEvent) => void>> => ({
  ' ': actions.togglePlay,
  k: actions.togglePlay,
  m: actions.toggleMute,
  c: actions.toggleText,
  f: actions.toggleFullscreen,
  i: actions.togglePip,
  '?': actions.toggleHelp,
  j: () => actions.seekBy(-10),
  l: () => actions.seekBy(10),
  ArrowLeft: ({ shiftKey }) => actions.seekBy(shiftKey ? -10 : -5),
  ArrowRight: ({ shiftKey }) => actions.seekBy(shiftKey ? 10 : 5),
  ArrowUp: () => actions.changeVolume(0.05),
  ArrowDown: () => actions.changeVolume(-0.05),
  '<': () => actions.changeSpeed(-1),
  '>': () => actions.changeSpeed(1),
});

/** Keys that the focused element needs for itself. */
const isOwnKey = (target: EventTarget | null, key: string): boolean => {
  if (target instanceof HTMLSelectElement) return true;
  if (target instanceof HTMLButtonElement) return key === ' ' || key === 'Enter';
  return target instanceof HTMLInputElement && target.id === 'volume' && ['ArrowLeft', 'ArrowRight'].includes(key);
};

/** Listens in the whole page, so that a viewer doesn't have to click the video first. */
export const addKeys = (actions: Actions): void => {
  const table = keyActions(actions);
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isOwnKey(event.target, event.key)) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const act = /^[0-9]$/.test(key) ? () => actions.seekToShare(Number(key) / 10) : table[key];
    if (!act) return;
    event.preventDefault();
    act(event);
  });
};
