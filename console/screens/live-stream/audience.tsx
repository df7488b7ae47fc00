import type { ReactNode } from 'react';
import type { LiveStream } from '../../api/live-streams';
import { Report } from '../audience/report';
import { useTimeframe } from '../audience/timeframe';

/** Who watched the live stream, and how well it played. */
const Audience = ({ stream }: { readonly stream: LiveStream }): ReactNode => {
  const [timeframe, select] = useTimeframe();
  return (
    <>
      <div className="report-time">{select}</div>
      <Report timeframe={timeframe} subject={{ live_stream_id: stream.id }} />
    </>
  );
};
export default Audience;
