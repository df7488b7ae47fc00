import type { ReactNode } from 'react';
import { type Asset, assetPath } from '../../../api/assets';
import { Budgets } from '../../audience/budgets';
import { PlaybackIds } from './playback-ids';

/** Playback IDs, and with each what is needed to use it. */
const Playback = ({ asset }: { readonly asset: Asset }): ReactNode => (
  <>
    <PlaybackIds
      path={assetPath(asset.id)}
      playbackIds={asset.playback_ids ?? []}
      title={asset.meta?.title || 'Video'}
      aspectRatio={asset.aspect_ratio}
      refresh={[
        ['asset', asset.id],
        ['asset', 'list'],
      ]}
    />
    <Budgets assetId={asset.id} />
  </>
);
export default Playback;
