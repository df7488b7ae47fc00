import { useCallback } from 'react';
import { useSearchParams } from 'wouter';

export interface ClipTimes {
  readonly start?: number;
  readonly end?: number;
}

const secondsOf = (text: string | null): number | undefined => {
  const seconds = Number.parseFloat(text ?? '');
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined;
};

/** The start and end of a clip. They are in the address, so a reload and the way back keep them. */
export const useClipTimes = (): [ClipTimes, (change: ClipTimes) => void] => {
  const [params, setParams] = useSearchParams();
  const [start, end] = [secondsOf(params.get('start')), secondsOf(params.get('end'))];
  const change = useCallback(
    (times: ClipTimes) =>
      setParams(
        (previous) => {
          const next = new URLSearchParams(previous);
          for (const [name, seconds] of Object.entries(times)) next.set(name, String(seconds));
          return next;
        },
        { replace: true },
      ),
    [setParams],
  );
  return [{ ...(start !== undefined && { start }), ...(end !== undefined && { end }) }, change];
};
