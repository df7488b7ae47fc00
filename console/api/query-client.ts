import { QueryClient } from '@tanstack/react-query';

/**
 * Answers stay fresh until the server says that something changed (changes.ts), so nothing is asked
 * for twice.
 */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { retry: false, staleTime: 60_000, refetchOnWindowFocus: false, networkMode: 'always' },
    mutations: { retry: false, networkMode: 'always' },
  },
});
