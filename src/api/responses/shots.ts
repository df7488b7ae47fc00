import { Type } from 'typebox';
import type { ShotsView } from '../../domain/asset-view/asset-view.js';
import { failure, unixSeconds } from '../schemas/response.js';
import { unixSeconds as unixText, type Wire, withoutNulls } from '../wire.js';

const { Optional, Object: Fields, Enum, String: Text } = Type;

export const ShotsResponse = Fields(
  {
    status: Enum(['pending', 'completed', 'errored', 'skipped', 'deleted'], {
      description: 'State of the shot detection. `skipped` if the asset has no video',
    }),
    created_at: Optional(unixSeconds('When the shots were requested')),
    shots_manifest_url: Optional(
      Text({
        format: 'uri',
        description:
          'URL of a JSON file that lists the shots. Signed, valid for 24 hours, and renewed in each response. Present when `completed`',
      }),
    ),
    errors: Optional(failure('Why the detection failed. Present when it is `errored`')),
  },
  { title: 'Shots', description: 'The shots of an asset, each with its start and a contact sheet' },
);

export const serializeShots = ({ shots, manifestUrl }: ShotsView): Wire =>
  withoutNulls({
    status: shots.status,
    created_at: unixText(shots.created_at),
    shots_manifest_url: manifestUrl,
    errors: shots.error,
  });

/**
 * Shots inside an event, with the `passthrough` and `meta` of the asset so that receivers can
 * identify it.
 */
export const serializeShotsEvent = (
  view: ShotsView,
  { passthrough, meta }: { readonly passthrough: string | null; readonly meta: object | null },
): Wire => withoutNulls({ ...serializeShots(view), passthrough, meta });
