import type { ReactNode } from 'react';
import type { Asset } from '../../../api/assets';
import { usePermission } from '../../../api/session';
import { ClipSection } from './clip-section';
import { hasVideo } from './has-video';
import { PosterSection } from './poster-section';

/** The poster and clips, whose frames are chosen beside the player. */
const Frames = ({ asset }: { readonly asset: Asset }): ReactNode => {
  const mayWrite = usePermission('video:write');
  if (asset.status !== 'ready') return <p>The poster and clips can be made when the asset is ready.</p>;
  if (!hasVideo(asset)) return <p>This asset has no video, so there are no frames to choose.</p>;
  return (
    <>
      <PosterSection asset={asset} />
      {mayWrite && <ClipSection asset={asset} />}
    </>
  );
};
export default Frames;
