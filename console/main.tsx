import './styles/base.css';
import './styles/controls.css';
import './styles/layout.css';
import './styles/screens.css';
import { createRoot } from 'react-dom/client';
import { App } from './app';
import { applyTheme } from './layout/theme';

// Before the first frame, so that it doesn't flash.
applyTheme();
createRoot(document.getElementById('root')!).render(<App />);
