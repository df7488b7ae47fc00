import { findAssetFailure } from '../../db/tables/assets/asset-failure.js';
import { listAssetInputs } from '../../db/tables/assets/asset-input.js';
import { readAssetView } from '../../db/tables/assets/asset-reads.js';
import { KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import type { AssetView } from '../asset-view/asset-view.js';
import type { DomainContext } from '../context.js';
import { type AssetRequest, type NewStaticRendition, settingsOf } from '../requests/asset-request.js';
import { hideCredentials } from '../requests/inputs.js';
import { createAsset } from './create-asset.js';

/** Why an asset could not be prepared. */
export interface AssetProblem {
  /** For the owner of the file. */
  readonly sentence: string;
  /** The step that failed; undefined for assets of older versions, as are the next two. */
  readonly stage: 'download' | 'probe' | 'plan' | 'segments' | undefined;
  readonly occurredAt: Date | undefined;
  /** For the operator: the causes of the error, and the job to look for in the log. */
  readonly operator: { readonly detail: string; readonly jobId: string } | undefined;
  /** The request that created the asset or its upload. */
  readonly requestId: string | undefined;
  /** Of the first input, without credentials; undefined for uploads. */
  readonly inputUrl: string | undefined;
  /** A retry would read the same input with the same settings. */
  readonly canRetry: boolean;
}

const findErrored = async ({ database }: DomainContext, environmentId: string, assetId: string) => {
  const view = isId(assetId) ? await readAssetView(database, environmentId, assetId) : undefined;
  if (!view) throw new KinoraError('not_found');
  if (view.asset.status === 'errored') return view;
  const messages = [`The asset is ${view.asset.status}, not errored.`];
  throw new KinoraError('conflict', { messages });
};

/** @throws KinoraError `not_found`; `conflict` when the asset is not errored */
export const getAssetProblem = async (
  context: DomainContext,
  environmentId: string,
  assetId: string,
): Promise<AssetProblem> => {
  const { asset } = await findErrored(context, environmentId, assetId);
  const failure = await findAssetFailure(context.database.queryable, assetId);
  const [input] = await listAssetInputs(context.database.queryable, assetId);
  return {
    sentence: asset.error?.messages.join(' ') ?? 'The asset could not be processed.',
    stage: failure?.stage,
    occurredAt: failure?.occurred_at,
    operator: failure && { detail: failure.detail, jobId: failure.job_id },
    requestId: asset.request_id ?? undefined,
    inputUrl: input && hideCredentials(input.settings).url,
    canRetry: asset.ingest_type === 'on_demand_url',
  };
};

/**
 * Creates an asset with the input and the settings of an errored one, which stays as it is.
 * @throws KinoraError `not_found`; `conflict` when the asset is not errored or its input is not
 * available any more; `invalid_parameters` when its settings refer to something that was deleted
 */
export const retryAsset = async (
  context: DomainContext,
  environmentId: string,
  assetId: string,
  requestId: string,
): Promise<AssetView> => {
  const view = await findErrored(context, environmentId, assetId);
  const { asset, playbackIds, renditions } = view;
  if (asset.ingest_type !== 'on_demand_url') {
    const again = asset.ingest_type === 'on_demand_clip' ? 'Create the clip again.' : 'Upload the file again.';
    throw new KinoraError('conflict', { messages: [`The input of this asset is not kept. ${again}`] });
  }
  const inputs = await listAssetInputs(context.database.queryable, assetId);
  const request: AssetRequest = {
    body: {},
    base: [],
    inputsField: 'inputs',
    inputs: inputs.map(({ settings }) => settings),
    playbackPolicies: playbackIds.flatMap(({ policy }) => (policy === 'drm' ? [] : [policy])),
    advancedPlaybackPolicies: playbackIds.flatMap(({ policy, drm_configuration_id: id }) =>
      policy === 'drm' && id !== null ? [{ policy, drm_configuration_id: id }] : [],
    ),
    // Those without are the files of `mp4_support`.
    staticRenditions: renditions.flatMap(({ resolution, passthrough }) =>
      resolution === null
        ? []
        : [{ resolution: resolution as NewStaticRendition['resolution'], passthrough: passthrough ?? undefined }],
    ),
    copyOverlays: true,
    settings: settingsOf(asset),
  };
  return createAsset(context, environmentId, request, requestId);
};
