import type { ReactNode } from 'react';
import { type LiveStreamDetails, liveStreamKeys, liveStreamPath } from '../../api/live-streams';
import { PlaybackIds } from '../asset/playback/playback-ids';

/** Playback IDs of the live stream: they play what is on air. */
const Playback = ({ stream }: { readonly stream: LiveStreamDetails }): ReactNode => (
  <PlaybackIds
    path={liveStreamPath(stream.id)}
    playbackIds={stream.playback_ids ?? []}
    title={stream.meta?.title || 'Live stream'}
    refresh={liveStreamKeys(stream.id)}
  />
);
export default Playback;
