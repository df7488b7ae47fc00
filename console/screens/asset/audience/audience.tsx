import type { ReactNode } from 'react';
import type { Asset } from '../../../api/assets';
import { Report } from '../../audience/report';
import { useTimeframe } from '../../audience/timeframe';

/** Who watched the asset, and how well it played. */
const Audience = ({ asset }: { readonly asset: Asset }): ReactNode => {
  const [timeframe, select] = useTimeframe();
  return (
    <>
      <div className="report-time">{select}</div>
      <Report timeframe={timeframe} subject={{ asset_id: asset.id }} />
    </>
  );
};
export default Audience;
