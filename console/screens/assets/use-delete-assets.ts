import { useState } from 'react';
import { type Asset, deleteAsset, titleOf } from '../../api/assets';
import { deleteViewsOf } from '../../api/audience';
import { ApiError } from '../../api/client';
import { queryClient } from '../../api/query-client';
import { countOf } from '../../lib/format';
import { confirm } from '../../ui/confirm';
import { notify, notifyError } from '../../ui/toast';

interface DeleteAssets {
  /** Asks once, and deletes them one after the other. */
  deleteAssets(assets: readonly Pick<Asset, 'id' | 'meta'>[]): Promise<void>;
  /** The number of the asset that is being deleted, from 1. */
  readonly progress: number | undefined;
}

/** @param onDeleted called when all of them are deleted */
export const useDeleteAssets = (onDeleted: () => void): DeleteAssets => {
  const [progress, setProgress] = useState<number>();
  const deleteAssets: DeleteAssets['deleteAssets'] = async (assets) => {
    const what = assets.length === 1 ? `“${titleOf(assets[0]!)}”` : countOf(assets.length, 'asset');
    let deletesViews = false;
    const isConfirmed = await confirm({
      title: `Delete ${what}?`,
      text: `${assets.length === 1 ? 'Its' : 'Their'} files are removed within minutes, and players stop at once. This cannot be undone.`,
      action: 'Delete',
      choice: {
        label: `Also delete ${assets.length === 1 ? 'its' : 'their'} views`,
        onChange: (isChosen) => {
          deletesViews = isChosen;
        },
      },
    });
    if (!isConfirmed) return;
    try {
      for (const [index, { id }] of assets.entries()) {
        setProgress(index + 1);
        await deleteAsset(id).catch((error: unknown) => {
          // Another one deleted it meanwhile.
          if (!(error instanceof ApiError && error.status === 404)) throw error;
        });
        if (deletesViews) await deleteViewsOf(id);
      }
      notify(`Deleted ${what}.`);
      onDeleted();
    } catch (error) {
      notifyError(error);
    } finally {
      setProgress(undefined);
      await queryClient.invalidateQueries({ queryKey: ['asset', 'list'] });
    }
  };
  return { deleteAssets, progress };
};
