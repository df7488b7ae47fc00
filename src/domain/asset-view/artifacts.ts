import type { Row } from '../../db/schema.js';
import type { DomainContext } from '../context.js';
import type { Artifact } from '../signing/artifact-urls.js';
import type { MasterView, ShotsView } from './asset-view.js';

/** Master and shots of an asset, as responses, events and signed URLs represent them. */

type MasterRow = Pick<Row<'asset'>, 'id' | 'master_id' | 'resolution_tier'>;

const LIFETIME_MS = 24 * 3600_000;

/**
 * Unix seconds at which a URL that is valid from `from` expires; access to a master that becomes
 * ready at that time expires with it.
 */
export const expirySeconds = (from: Date): number => Math.ceil((from.getTime() + LIFETIME_MS) / 1000);

/**
 * The master of this order; undefined when there is none. An audio-only master has a different file
 * name.
 */
export const masterArtifact = (asset: MasterRow): Artifact | undefined =>
  asset.master_id === null
    ? undefined
    : {
        kind: 'master',
        ownerId: asset.id,
        version: asset.master_id,
        file: asset.resolution_tier === 'audio-only' ? 'master.m4a' : 'master.mp4',
      };

/** Undefined without access. */
export const viewMaster = (
  { artifactUrls }: Pick<DomainContext, 'artifactUrls'>,
  asset: Row<'asset'>,
): MasterView | undefined => {
  if (asset.master_access === 'none' || asset.status === 'errored') return undefined;
  const artifact = masterArtifact(asset);
  return artifact && asset.master_ready_at
    ? { status: 'ready', url: artifactUrls.urlOf(artifact, expirySeconds(asset.master_ready_at)) }
    : { status: asset.master_status ?? 'preparing' };
};

export const MANIFEST_FILE = 'manifest.json';

/** A file of shots. */
export const shotsArtifact = (shots: Pick<Row<'shots'>, 'asset_id' | 'order_id'>, file: string): Artifact => ({
  kind: 'shots',
  ownerId: shots.asset_id,
  version: shots.order_id,
  file,
});

/** Its URL is valid for a day from now. */
export const viewShots = (
  { artifactUrls, clock }: Pick<DomainContext, 'clock' | 'artifactUrls'>,
  shots: Pick<Row<'shots'>, 'asset_id' | 'order_id' | 'status' | 'created_at' | 'error'>,
): ShotsView => ({
  shots,
  manifestUrl:
    shots.status === 'completed'
      ? artifactUrls.urlOf(shotsArtifact(shots, MANIFEST_FILE), expirySeconds(clock.now()))
      : undefined,
});
