import type { Queryable } from '../../db/database.js';
import type { Row } from '../../db/schema.js';
import { isKinoraError } from '../../lib/errors.js';
import { checkReferences } from '../assets/check-references.js';
import type { DomainContext } from '../context.js';
import type { AssetRequest } from '../requests/asset-request.js';

/** Settings that refer to something that may have been deleted since they were stored. */
const REFERRING = ['advanced_playback_policies', 'directives'];

/**
 * The request for the asset of a broadcast. A broadcast is never refused for its settings: those
 * that refer to something that was deleted are left out, and `warning` says so.
 */
export const readNewAsset = async (
  context: Pick<DomainContext, 'wire' | 'assetHook'>,
  db: Queryable,
  stream: Row<'live_stream'>,
): Promise<{
  readonly request: AssetRequest;
  readonly warning?: { readonly type: string; readonly message: string };
}> => {
  const { environment_id: environmentId, new_asset_settings: settings } = stream;
  const read = (given: object): AssetRequest => withStream(context.wire.readLiveAsset(given), stream);
  const request = read(settings ?? {});
  try {
    await checkReferences(context, db, environmentId, request);
    return { request };
  } catch (error) {
    if (!isKinoraError(error, 'invalid_parameters')) throw error;
    const rest = Object.entries(settings ?? {}).filter(([name]) => !REFERRING.includes(name));
    const message = `Settings of the live stream were left out: ${error.messages.join('; ')}.`;
    return { request: read(Object.fromEntries(rest)), warning: { type: 'settings_left_out', message } };
  }
};

/** Adds what the live stream asks for: subtitles, recognized when the broadcast is over. */
const withStream = (
  request: AssetRequest,
  { is_test: isTest, generated_subtitles: subtitles }: Row<'live_stream'>,
): AssetRequest => {
  const [main = {}, ...others] = request.inputs;
  const own = main.generated_subtitles ?? [];
  const added = (subtitles ?? []).filter(({ name }) => own.every((entry) => entry.name !== name));
  const generated = [
    ...own,
    // Recognizers know languages without a region.
    ...added.map(({ name, passthrough, language_code: code = 'en' }) => ({
      ...{ name, passthrough },
      language_code: code.split('-')[0],
    })),
  ];
  return {
    ...request,
    inputs: [{ ...main, ...(generated.length > 0 && { generated_subtitles: generated }) }, ...others],
    settings: { ...request.settings, is_test: request.settings.is_test || isTest },
  };
};
