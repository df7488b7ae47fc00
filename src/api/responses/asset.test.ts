import { expect, it } from 'vitest';
import type { AssetView } from '../../domain/asset-view/asset-view.js';
import { serializeListedAsset } from './asset.js';

const view = (change: Partial<AssetView> = {}): AssetView => ({
  asset: { id: 'a', created_at: new Date(0), status: 'preparing', video_quality: 'plus' } as AssetView['asset'],
  playbackIds: [],
  tracks: [],
  renditions: [],
  ...change,
});

it('an asset of a list is serialized once while it is the same object', () => {
  const first = view();
  expect(serializeListedAsset({ ...first })).toBe(serializeListedAsset(first));
  expect(serializeListedAsset(view())).not.toBe(serializeListedAsset(first));
});

it('a signed URL in a list is that of the request', () => {
  const { asset } = view();
  const masterOf = (url: string) => serializeListedAsset(view({ asset, master: { status: 'ready', url } })).master;
  expect([masterOf('https://a'), masterOf('https://b')]).toEqual([
    { status: 'ready', url: 'https://a' },
    { status: 'ready', url: 'https://b' },
  ]);
});
