import { unixSeconds, type Wire, withoutNulls } from '../wire.js';

export interface ShotsView {
  readonly shots: {
    readonly status: 'pending' | 'completed' | 'errored' | 'skipped' | 'deleted';
    readonly created_at: Date;
    readonly error: object | null;
  };
  /** A signed URL; present when the shots are completed. */
  readonly manifestUrl?: string;
}

export const serializeShots = ({ shots, manifestUrl }: ShotsView): Wire =>
  withoutNulls({
    status: shots.status,
    created_at: unixSeconds(shots.created_at),
    shots_manifest_url: manifestUrl,
    errors: shots.error,
  });

/** Shots inside an event, with the `passthrough` and `meta` of the asset so that receivers can identify it. */
export const serializeShotsEvent = (
  view: ShotsView,
  { passthrough, meta }: { readonly passthrough: string | null; readonly meta: object | null },
): Wire => withoutNulls({ ...serializeShots(view), passthrough, meta });
