import { unixSeconds, type Wire, withoutNulls } from '../wire.js';

export interface ShotsView {
  readonly shots: {
    readonly status: 'pending' | 'completed' | 'errored' | 'skipped' | 'deleted';
    readonly created_at: Date;
    readonly error: object | null;
  };
  /** Signed; of completed ones. */
  readonly manifestUrl?: string;
}

export const serializeShots = ({ shots, manifestUrl }: ShotsView): Wire =>
  withoutNulls({
    status: shots.status,
    created_at: unixSeconds(shots.created_at),
    shots_manifest_url: manifestUrl,
    errors: shots.error,
  });

/** Shots inside an event: with what the asset was given to be recognized by. */
export const serializeShotsEvent = (
  view: ShotsView,
  { passthrough, meta }: { readonly passthrough: string | null; readonly meta: object | null },
): Wire => withoutNulls({ ...serializeShots(view), passthrough, meta });
