import { ArrowLeft } from 'lucide-react';
import { type ReactNode, Suspense } from 'react';
import { Link } from 'wouter';
import { titleOf } from '../../api/assets';
import { type LiveStreamDetails, liveStreamQuery } from '../../api/live-streams';
import { usePermission, useSession } from '../../api/session';
import { Loaded, Loading, Page } from '../../ui/page';
import { PartLinks } from '../../ui/part-links';
import { PlayerProvider } from '../asset/player';
import { LiveStatus } from '../live-streams/live-status';
import { LiveActions } from './live-actions';
import { LiveFacts } from './live-facts';
import { LiveStage } from './live-stage';
import { LiveWarnings } from './live-warnings';
import { liveParts } from './parts';

interface LiveStreamProps {
  readonly params: { readonly id: string; readonly part?: string };
}

const LiveStreamScreen = ({ params }: LiveStreamProps): ReactNode => (
  <Loaded key={params.id} query={liveStreamQuery(params.id)}>
    {(stream) => <LiveStreamPage stream={stream} part={params.part} />}
  </Loaded>
);
export default LiveStreamScreen;

interface LiveStreamPageProps {
  readonly stream: LiveStreamDetails;
  readonly part: string | undefined;
}

/** What is on air, the parts, each with an address of its own, and the facts. */
const LiveStreamPage = ({ stream, part }: LiveStreamPageProps): ReactNode => {
  const { permissions } = useSession();
  const mayWrite = usePermission('video:write');
  const parts = liveParts.filter(({ needs }) => needs === undefined || permissions.includes(needs));
  const shown = parts.find(({ path }) => path === (part ?? '')) ?? parts[0]!;
  const Part = shown.component;
  return (
    <PlayerProvider>
      <Page
        title={titleOf(stream)}
        above={
          <Link href="/live" className="way-back">
            <ArrowLeft aria-hidden />
            Live streams
          </Link>
        }
        actions={
          <>
            <span role="status">
              <LiveStatus stream={stream} />
            </span>
            {mayWrite && <LiveActions stream={stream} />}
          </>
        }
      >
        <LiveWarnings stream={stream} />
        <div className="asset-body">
          <LiveStage stream={stream} />
          <PartLinks label="Parts of the live stream" base={`/live/${stream.id}`} parts={parts} shown={shown.path} />
          <div className="part">
            <Suspense fallback={<Loading />}>
              <Part stream={stream} />
            </Suspense>
          </div>
          <div className="beside">
            <LiveFacts stream={stream} />
          </div>
        </div>
      </Page>
    </PlayerProvider>
  );
};
