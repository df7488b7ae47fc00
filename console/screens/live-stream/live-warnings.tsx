import { useQuery } from '@tanstack/react-query';
import { TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { type LiveStream, liveWarningsQuery } from '../../api/live-streams';

/** What was wrong with the current or the latest broadcast, and what to change in the encoder. */
export const LiveWarnings = ({ stream }: { readonly stream: LiveStream }): ReactNode => {
  const { data } = useQuery(liveWarningsQuery(stream.id));
  const messages = [...new Set(data?.data.map(({ message }) => message))];
  return (
    <div role="status">
      {messages.length > 0 && (
        <div className="notice notice-warning live-warnings">
          <TriangleAlert aria-hidden />
          <div>
            {messages.map((message) => (
              <p key={message}>{message}</p>
            ))}
            {!stream.active_asset_id && (
              <p className="soft">
                So it was in the <Link href={`/assets/${data?.asset_id}`}>latest broadcast</Link>.
              </p>
            )}
          </div>
        </div>
      )}
    </div>
  );
};
