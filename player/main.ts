import './player.css';
import { messageFor, messageForState, showMessage } from './message.js';
import { page } from './page-data.js';
import { play } from './play.js';
import { readSettings } from './settings.js';
import { waitUntilReady } from './wait-until-ready.js';

const { status, live, keySystems, licenseToken } = page;
if (status !== '200' || live === 'ended') {
  showMessage(messageForState(page));
  if (status === '412' || live === 'ended') waitUntilReady();
} else if (keySystems !== '' && licenseToken === '') showMessage(`${messageFor(403)} The link has no license token.`);
else play(readSettings(new URLSearchParams(location.search), window.parent !== window));
