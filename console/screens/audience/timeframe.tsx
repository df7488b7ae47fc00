import { type ReactNode, useState } from 'react';
import { SelectField } from '../../ui/field';

/** Days in UTC, of which the last one goes on. */
const TIMEFRAMES = [
  ['24:hours', 'Last 24 hours'],
  ['6:days', 'Last 7 days'],
  ['29:days', 'Last 30 days'],
  ['89:days', 'Last 90 days'],
] as const;

/** A choice of the time, and what is chosen. */
export const useTimeframe = (): [timeframe: string, select: ReactNode] => {
  const [timeframe, setTimeframe] = useState<string>(TIMEFRAMES[1][0]);
  return [
    timeframe,
    <SelectField
      key="time"
      label="Time"
      options={TIMEFRAMES}
      value={timeframe}
      onChange={({ target }) => setTimeframe(target.value)}
    />,
  ];
};
