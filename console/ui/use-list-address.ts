import { useCallback } from 'react';
import { useSearchParams } from 'wouter';

/** What the address says about a list. */
export interface ListAddress {
  readonly status: string | undefined;
  readonly search: string | undefined;
  readonly sort: string | undefined;
  /** From 1. */
  readonly page: number;
}

/**
 * The page, filter and order of a list, which are in the address, so that they can be shared and
 * the way back leads to them. A change leads to the first page, unless it names one.
 */
export const useListAddress = (
  defaultSort?: string,
): [address: ListAddress, change: (values: Partial<ListAddress>) => void] => {
  const [params, setParams] = useSearchParams();
  const address = {
    status: params.get('status') ?? undefined,
    search: params.get('search') ?? undefined,
    sort: params.get('sort') ?? defaultSort,
    page: Math.max(1, Number.parseInt(params.get('page') ?? '1', 10) || 1),
  };
  const change = useCallback(
    (values: Partial<ListAddress>) => {
      setParams(
        (previous) => {
          const next = new URLSearchParams(previous);
          for (const [name, value] of Object.entries({ page: undefined, ...values })) {
            if (value === undefined || value === '' || value === defaultSort || value === 1) next.delete(name);
            else next.set(name, String(value));
          }
          return next;
        },
        { replace: values.search !== undefined },
      );
    },
    [setParams, defaultSort],
  );
  return [address, change];
};
