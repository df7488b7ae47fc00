import { infiniteQueryOptions } from '@tanstack/react-query';
import { get } from './client';

/** An event as receivers get it. */
export interface ApiEvent {
  readonly id: string;
  readonly type: string;
  /** ISO 8601. */
  readonly created_at: string;
  readonly object: { readonly type: string; readonly id: string };
  readonly data: {
    readonly meta?: { readonly title?: string };
    readonly new_asset_settings?: { readonly meta?: { readonly title?: string } };
    readonly asset_id?: string;
  };
}

/** The title that the asset or the upload of an event had then. */
export const titleOfEvent = ({ data }: ApiEvent): string | undefined =>
  data.meta?.title || data.new_asset_settings?.meta?.title || undefined;

interface EventPage {
  readonly data: readonly ApiEvent[];
  readonly next_cursor: string | null;
}

export interface EventFilter {
  readonly type?: string | undefined;
  readonly objectId?: string | undefined;
}

/**
 * Newest first, a page at a time.
 */
export const eventsQuery = ({ type, objectId }: EventFilter) =>
  infiniteQueryOptions({
    queryKey: ['event', 'list', type, objectId],
    queryFn: ({ signal, pageParam }) =>
      get<EventPage>('/system/v1/events', { limit: 50, type, object_id: objectId, cursor: pageParam }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor: cursor }) => cursor ?? undefined,
  });
