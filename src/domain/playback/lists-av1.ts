import type { Row } from '../../db/schema.js';

/** When the AV1 ladder of watched assets is listed: see `KINORA_AV1_AFTER`. */
export type Av1After = number | 'never';

/** Whether playlists of an asset list its AV1 ladder. */
export const listsAv1 = (asset: Pick<Row<'asset'>, 'av1' | 'av1_state'>, after: Av1After): boolean => {
  if (asset.av1 !== 'auto') return asset.av1 === 'always';
  return after === 0 || (after !== 'never' && asset.av1_state === 'listed');
};
