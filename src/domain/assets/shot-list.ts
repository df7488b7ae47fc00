import type { Row } from '../../db/schema.js';
import { findAssetById } from '../../db/tables/assets/asset.js';
import { findShots } from '../../db/tables/assets/shots.js';
import { findPlan } from '../../db/tables/playback/playable.js';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import type { Plan, VideoPlan } from '../../media/plan/plan.js';
import type { Shot } from '../../media/shots/contact-sheet.js';
import { MANIFEST_FILE, shotsArtifact } from '../asset-view/artifacts.js';
import type { DomainContext } from '../context.js';

/** The parameters of a request for a file of shots. */
export interface ShotsDownload {
  readonly assetId: string;
  readonly file: string;
  readonly expires: unknown;
  readonly signature: unknown;
}

export interface ShotList {
  readonly plan: Plan;
  readonly video: VideoPlan;
  /** In order of time, without gaps. */
  readonly shots: readonly Shot[];
  /** The content of the signed `manifest.json`; the URLs in it expire with its own. */
  manifest(): object;
}

type Context = Pick<DomainContext, 'database' | 'clock' | 'artifactUrls'>;

/**
 * Opens the shots of a signed URL.
 * @throws KinoraError `not_found` (no asset, or it has no shots), `forbidden` (not a URL of these
 * shots, or expired)
 */
export const openShotList = async (
  { database, clock, artifactUrls }: Context,
  { assetId, file, expires, signature }: ShotsDownload,
): Promise<ShotList> => {
  const db = database.queryable;
  const row = isId(assetId) ? await findShots(db, assetId) : undefined;
  const asset = row && (await findAssetById(db, assetId));
  if (!asset || row?.status !== 'completed' || !row.start_times) throw new KinoraError('not_found');
  artifactUrls.check(shotsArtifact(row, file), expires, signature, clock.now());
  const plan = (await findPlan(db, assetId)) as Plan | undefined;
  if (!plan?.video) throw new KinoraError('not_found');
  const shots = shotsOf(row.start_times, plan.durationSeconds);
  const urlOf = (name: string) => artifactUrls.urlOf(shotsArtifact(row, name), Number(expires));
  return {
    plan,
    video: plan.video,
    shots,
    manifest: () => ({
      shots: shots.map(({ startSeconds }, number) => {
        const url = urlOf(`${number}.webp`);
        return { start_time: microseconds(startSeconds), shot_preview_image_url: url, image_url: url };
      }),
    }),
  };
};

const shotsOf = (startTimes: NonNullable<Row<'shots'>['start_times']>, durationSeconds: number): Shot[] =>
  startTimes.map((startSeconds, number) => ({
    startSeconds,
    endSeconds: startTimes[number + 1] ?? Math.max(durationSeconds, startSeconds),
  }));

/** More decimals would be useless to a reader. */
const microseconds = (seconds: number): number => Math.round(seconds * 1e6) / 1e6;

export const isManifest = (file: string): boolean => file === MANIFEST_FILE;
