import { expect, it } from 'vitest';
import { scriptedDatabase } from '../../../test/support/scripted-database.js';
import type { Database } from '../../db/database.js';
import { systemClock } from '../../lib/clock.js';
import { type Session, Sessions } from './sessions.js';

const changes: [string, (sessions: Sessions, session: Session) => Promise<void>, string][] = [
  ['ended', (sessions, session) => sessions.end(session), 'The session has ended. Sign in again.'],
  ['moved', (sessions, session) => sessions.switchEnvironment(session, 'second'), 'second'],
];

it.each(changes)('does not keep a session that was %s while it was read', async (_, change, expected) => {
  let environment: string | undefined = 'first';
  let response: (() => void) | undefined;
  let isSlow = false;
  const queryable = scriptedDatabase(async (statement) => {
    if (statement.startsWith('delete')) environment = undefined;
    if (statement.startsWith('update')) environment = 'second';
    if (!statement.includes('from "console_session"')) return [{ id: 'second' }];
    const soon = new Date(Date.now() + 60_000);
    const row = { environment_id: environment, token_id: null, last_used_at: new Date(), ends_at: soon };
    const rows = environment === undefined ? [] : [row];
    // Read, but the response is on its way.
    if (isSlow)
      await new Promise<void>((resolve) => {
        response = resolve;
      });
    return rows;
  });
  const cookie = { name: 'session', apiUrl: () => 'http://localhost' };
  const open = () => new Sessions({ queryable } as Database, systemClock, cookie);
  const session = await open().get('secret');
  const sessions = open();
  isSlow = true;
  const late = sessions.get('secret');
  await expect.poll(() => response).toBeDefined();
  isSlow = false;
  await change(sessions, session);
  response!();
  await late;
  const found = await sessions.get('secret').then(
    ({ caller }) => caller.environment.id,
    (error: Error) => error.message,
  );
  expect(found).toBe(expected);
});
