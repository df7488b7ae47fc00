import type { ReactNode } from 'react';
import { useSession } from '../../api/session';
import { CodeBlock } from '../../ui/copy';
import { EmptyState } from '../../ui/empty-state';

/** In place of numbers: how players report their views. */
export const HowToCount = (): ReactNode => {
  const { environment, stream_url: streamUrl, data_host: dataHost } = useSession();
  return (
    <EmptyState title="Nobody watched in this time">
      <p>
        Views appear here within seconds. The player page of a playback ID reports them by itself, to this server only.
        Mux Player does with these attributes:
      </p>
      <CodeBlock
        what="player with audience"
        text={`<mux-player
  src="${streamUrl}/PLAYBACK_ID.m3u8"
  env-key="${environment.id}"
  beacon-collection-domain="${dataHost}"
  disable-cookies
></mux-player>`}
      />
    </EmptyState>
  );
};
