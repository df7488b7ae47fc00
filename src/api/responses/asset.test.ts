import { expect, it } from 'vitest';
import type { AssetView } from '../../domain/asset-view/asset-view.js';
import { assetJson } from './asset.js';

const view = (change: Partial<AssetView> = {}): AssetView => ({
  asset: { id: 'a', created_at: new Date(0), status: 'preparing', video_quality: 'plus' } as AssetView['asset'],
  playbackIds: [],
  tracks: [],
  renditions: [],
  ...change,
});

it('an asset is serialized once while it is the same object', () => {
  let reads = 0;
  const counted = view();
  Object.defineProperty(counted.asset, 'passthrough', { get: () => `read ${++reads}`, enumerable: true });
  expect(JSON.parse(assetJson(counted))).toMatchObject({ id: 'a', passthrough: 'read 1' });
  expect(assetJson({ ...counted })).toBe(assetJson(counted));
  expect(reads).toBe(1);
  expect(assetJson(view())).not.toBe(assetJson(counted));
});

it('a signed URL is that of the request', () => {
  const { asset } = view();
  const masterOf = (url: string) => JSON.parse(assetJson(view({ asset, master: { status: 'ready', url } }))).master;
  expect([masterOf('https://a'), masterOf('https://b')]).toEqual([
    { status: 'ready', url: 'https://a' },
    { status: 'ready', url: 'https://b' },
  ]);
});
