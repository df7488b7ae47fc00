import type { Sessions } from '../../domain/access/sessions.js';
import type { AppDeps } from '../app-deps.js';

/** What the routes of the console work with. */
export interface ConsoleDeps extends AppDeps {
  readonly sessions: Sessions;
}
