import './player.css';
import { messageFor, messageForRefusal, showMessage } from './message.js';
import { page } from './page-data.js';
import { play } from './play.js';
import { readSettings } from './settings.js';
import { waitUntilReady } from './wait-until-ready.js';

const { status, reason, keySystems, licenseToken } = page;
if (status !== '200') {
  showMessage(status === '403' ? messageForRefusal(reason) : messageFor(status));
  if (status === '412') waitUntilReady();
} else if (keySystems !== '' && licenseToken === '') showMessage(`${messageFor(403)} The link has no license token.`);
else play(readSettings(new URLSearchParams(location.search), window.parent !== window));
