import './player.css';
import { messageFor, showMessage } from './message.js';
import { page } from './page-data.js';
import { play } from './play.js';
import { readSettings } from './settings.js';
import { waitUntilReady } from './wait-until-ready.js';

const { status, keySystems, licenseToken } = page;
if (status !== '200') {
  showMessage(messageFor(status));
  if (status === '412') waitUntilReady();
} else if (keySystems !== '' && licenseToken === '') showMessage(messageFor(403));
else play(readSettings(new URLSearchParams(location.search), window.parent !== window));
