import { useQueries } from '@tanstack/react-query';
import { type Asset, assetQuery } from '../api/assets';
import { uploadQuery } from '../api/uploads';
import type { UploadItem } from './queue';

/** What became of a file that the server has. */
export interface Outcome {
  readonly status: Asset['status'];
  readonly assetId?: string | undefined;
  /** From 0 to 100, while the asset is prepared. */
  readonly percent?: number | undefined;
  /** Why there is no video. */
  readonly problem?: string | undefined;
}

const isOver = (asset: Asset | undefined): boolean => asset !== undefined && asset.status !== 'preparing';

/**
 * The outcomes of the items that were sent, by key. The server tells when an upload or an asset has
 * changed.
 */
export const useOutcomes = (items: readonly UploadItem[]): ReadonlyMap<string, Outcome> => {
  const sent = items.filter(({ state }) => state === 'sent');
  const uploads = useQueries({
    queries: sent.map(({ uploadId, assetId }) => ({
      ...uploadQuery(uploadId ?? ''),
      enabled: assetId === undefined && uploadId !== undefined,
    })),
  });
  const assetIds = sent.map(({ assetId }, index) => assetId ?? uploads[index]?.data?.asset_id);
  const assets = useQueries({
    queries: assetIds.map((id) => ({
      ...assetQuery(id ?? ''),
      // An asset that is ready or errored stays so.
      enabled: ({ state }: { readonly state: { readonly data?: Asset | undefined } }) =>
        id !== undefined && !isOver(state.data),
    })),
  });
  return new Map(
    sent.map(({ key }, index): [string, Outcome] => {
      const [upload, asset] = [uploads[index]?.data, assets[index]?.data];
      const problem = upload?.error?.message ?? asset?.errors?.messages[0];
      return [
        key,
        {
          status: problem === undefined ? (asset?.status ?? 'preparing') : 'errored',
          assetId: assetIds[index],
          percent: asset?.progress?.progress,
          problem,
        },
      ];
    }),
  );
};
