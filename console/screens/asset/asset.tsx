import { ArrowLeft } from 'lucide-react';
import { type ReactNode, Suspense } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { type Asset, assetQuery, titleOf } from '../../api/assets';
import { usePermission, useSession } from '../../api/session';
import { Button } from '../../ui/button';
import { Loaded, Loading, Page } from '../../ui/page';
import { PartLinks } from '../../ui/part-links';
import { AssetStatus } from '../assets/asset-columns';
import { useDeleteAssets } from '../assets/use-delete-assets';
import { Facts } from './facts';
import { assetParts } from './parts';
import { PlayerProvider } from './player';
import { Stage } from './stage';

interface AssetProps {
  readonly params: { readonly id: string; readonly part?: string };
}

const AssetScreen = ({ params }: AssetProps): ReactNode => (
  <Loaded key={params.id} query={assetQuery(params.id)}>
    {(asset) => <AssetPage asset={asset} part={params.part} />}
  </Loaded>
);
export default AssetScreen;

interface AssetPageProps {
  readonly asset: Asset;
  readonly part: string | undefined;
}

/**
 * The video, the parts, each with an address of its own, and the facts. The video plays on between
 * the parts.
 */
const AssetPage = ({ asset, part }: AssetPageProps): ReactNode => {
  const [, navigate] = useLocation();
  const mayWrite = usePermission('video:write');
  const { deleteAssets, progress } = useDeleteAssets(() => navigate('/assets'));
  const { permissions } = useSession();
  const parts = assetParts.filter(({ needs }) => needs === undefined || permissions.includes(needs));
  const shown = parts.find(({ path }) => path === (part ?? '')) ?? parts[0]!;
  const { component: Part, below: Below } = shown;
  const [query] = useSearchParams();
  const Tool = shown.besideQuery === undefined || query.has(shown.besideQuery) ? shown.beside : undefined;
  return (
    <PlayerProvider>
      <Page
        title={titleOf(asset)}
        above={
          <Link href="/assets" className="way-back">
            <ArrowLeft aria-hidden />
            Assets
          </Link>
        }
        actions={
          <>
            <AssetStatus asset={asset} />
            {mayWrite && (
              <Button look="delete" isBusy={progress !== undefined} onClick={() => void deleteAssets([asset])}>
                Delete
              </Button>
            )}
          </>
        }
      >
        <div className="asset-body">
          <Stage asset={asset} />
          {Below && (
            <div className="below-stage">
              <Suspense fallback={<Loading />}>
                <Below asset={asset} />
              </Suspense>
            </div>
          )}
          <PartLinks label="Parts of the asset" base={`/assets/${asset.id}`} parts={parts} shown={shown.path} />
          {Tool && (
            <div className="beside">
              <Suspense fallback={<Loading />}>
                <Tool asset={asset} />
              </Suspense>
            </div>
          )}
          <div className="part">
            <Suspense fallback={<Loading />}>
              <Part asset={asset} />
            </Suspense>
          </div>
          {!Tool && (
            <div className="beside">
              <Facts asset={asset} />
            </div>
          )}
        </div>
      </Page>
    </PlayerProvider>
  );
};
