import { createStore } from '../ui/store';

export type Theme = 'system' | 'light' | 'dark';

const KEY = 'kinora.theme';

const read = (): Theme => {
  const stored = localStorage.getItem(KEY);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
};

export const theme = createStore<Theme>(read());

/** Puts the theme into the page; the styles follow (base.css). */
export const applyTheme = (): void => {
  const chosen = theme.get();
  if (chosen === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
};

/** Chooses a theme, for this browser. */
export const setTheme = (chosen: Theme): void => {
  if (chosen === 'system') localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, chosen);
  theme.set(chosen);
  applyTheme();
};
