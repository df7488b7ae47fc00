import type { ReactNode } from 'react';
import type { LiveStream } from '../../api/live-streams';
import { Status } from '../../ui/status';

type LiveState = 'live' | 'reconnecting' | 'connected' | 'idle' | 'disabled';

/** What happens now: the status of the API, and whether an encoder is connected. */
export const liveStateOf = ({ status, connected }: Pick<LiveStream, 'status' | 'connected'>): LiveState => {
  if (status === 'active') return connected ? 'live' : 'reconnecting';
  return status === 'idle' && connected ? 'connected' : status;
};

const texts: Partial<Record<LiveState, string>> = {
  connected: 'Encoder connected',
  reconnecting: 'Encoder lost',
};

export const LiveStatus = ({ stream }: { readonly stream: LiveStream }): ReactNode => {
  const state = liveStateOf(stream);
  return <Status status={state} text={texts[state]} />;
};
