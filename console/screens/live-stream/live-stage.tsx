import { Radio } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { titleOf } from '../../api/assets';
import type { LiveStream } from '../../api/live-streams';
import { formatSpan } from '../../lib/format';
import { PlaybackPlayer } from '../asset/playback-player';
import { liveStateOf } from '../live-streams/live-status';

/** What viewers see now: the player while something is on air. */
export const LiveStage = ({ stream }: { readonly stream: LiveStream }): ReactNode => {
  const { playback_ids: playbackIds, reconnect_window: window, recent_asset_ids: recordings } = stream;
  const state = liveStateOf(stream);
  if (state === 'live' || state === 'reconnecting') {
    return (
      <div className="live-stage">
        <PlaybackPlayer playbackIds={playbackIds} title={titleOf(stream)} owner="This live stream" />
        {state === 'reconnecting' && (
          <p className="notice notice-warning" role="status">
            The encoder is lost. The broadcast waits {formatSpan(window)} for it, and then ends.
          </p>
        )}
      </div>
    );
  }
  const latest = recordings?.at(-1);
  return (
    <div className="stage stage-empty">
      <Radio aria-hidden />
      <p role="status">{sentences[state]}</p>
      {state === 'idle' && latest !== undefined && <Link href={`/assets/${latest}`}>Watch the latest recording</Link>}
    </div>
  );
};

const sentences = {
  connected: 'The encoder is connected. The player appears here when there is enough to play.',
  idle: 'Nothing is on air. The player appears here when an encoder sends.',
  disabled: 'This live stream is disabled: encoders are refused until you enable it.',
} as const;
