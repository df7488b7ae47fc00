import type { AdditionalRenditions } from '../media/plan/find-segment.js';
import type { Plan } from '../media/plan/plan.js';
import {
  concatenatedIndexKey,
  concatenatedKey,
  indexKey,
  mezzanineIndexKey,
  mezzanineKey,
  sourceKey,
} from '../storage/keys.js';

/** What a segment is made from. */
export interface PlayableAsset {
  readonly id: string;
  readonly plan: Plan;
  readonly additional?: AdditionalRenditions;
  /** Only this server has its source: no other one is asked for its segments. */
  readonly isOnlyHere?: boolean;
}

/** Under whose name the source lies. */
const ownerOf = ({ id, plan }: PlayableAsset): string => plan.sourceOwner ?? id;

/** The file that audio is read from, and frames unless there is a mezzanine. */
export const playedKey = (asset: PlayableAsset): string =>
  asset.plan.concatenated ? concatenatedKey(ownerOf(asset)) : sourceKey(ownerOf(asset));

/** The file that frames are read from. */
export const videoKey = (asset: PlayableAsset): string =>
  asset.plan.video?.access === 'mezzanine' ? mezzanineKey(ownerOf(asset)) : playedKey(asset);

/** Its name: a source that kills media processes says nothing about the mezzanine made of it. */
export const videoFileOf = (asset: PlayableAsset): string =>
  `${ownerOf(asset)} ${asset.plan.video?.access ?? 'source'}`;

/** A file that segments are made from, and the index of its packets. */
export interface FileKeys {
  readonly key: string;
  readonly indexKey: string;
  /** Written by Kinora. */
  readonly isMezzanine: boolean;
}

export const audioFileKeys = (asset: PlayableAsset): FileKeys => ({
  key: playedKey(asset),
  indexKey: (asset.plan.concatenated ? concatenatedIndexKey : indexKey)(ownerOf(asset)),
  isMezzanine: false,
});

export const videoFileKeys = (asset: PlayableAsset): FileKeys =>
  asset.plan.video?.access === 'mezzanine'
    ? { key: videoKey(asset), indexKey: mezzanineIndexKey(ownerOf(asset)), isMezzanine: true }
    : audioFileKeys(asset);
