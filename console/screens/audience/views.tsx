import type { ReactNode } from 'react';
import { Report } from './report';
import { useTimeframe } from './timeframe';

/** The views of everything in the environment. */
export const Views = (): ReactNode => {
  const [timeframe, select] = useTimeframe();
  return (
    <>
      <div className="report-time">{select}</div>
      <Report timeframe={timeframe} />
    </>
  );
};
