import type { ComponentType, LazyExoticComponent } from 'react';
import type { Asset } from '../../api/assets';
import { lazy } from '../../lib/lazy';

type PartComponent = LazyExoticComponent<ComponentType<{ readonly asset: Asset }>>;

interface AssetPart {
  /** Below /console/assets/:id; empty for the first one. */
  readonly path: string;
  readonly title: string;
  readonly component: PartComponent;
  /** Beside the player; the facts when absent. */
  readonly beside?: PartComponent;
  /** `beside` is shown while the query has this parameter; always when absent. */
  readonly besideQuery?: string;
  /** Below the player, as wide as it is. */
  readonly below?: PartComponent;
  /** The permission without which there is nothing to see. */
  readonly needs?: string;
}

/**
 * The parts of the asset's screen. A new one is a component that gets the asset, and a line here.
 */
export const assetParts: readonly AssetPart[] = [
  { path: '', title: 'Details', component: lazy(() => import('./overview/details')) },
  { path: 'playback', title: 'Playback', component: lazy(() => import('./playback/playback')) },
  {
    path: 'tracks',
    title: 'Tracks',
    component: lazy(() => import('./tracks/tracks')),
    beside: lazy(() => import('./tracks/beside-tracks')),
    besideQuery: 'cues',
  },
  {
    path: 'frames',
    title: 'Poster and clips',
    component: lazy(() => import('./frames/frames')),
    beside: lazy(() => import('./frames/frame-tool')),
  },
  {
    path: 'audience',
    title: 'Audience',
    component: lazy(() => import('./audience/audience')),
    below: lazy(() => import('./audience/retention')),
    needs: 'data:read',
  },
  { path: 'files', title: 'Files', component: lazy(() => import('./files/files')) },
  { path: 'api', title: 'API', component: lazy(() => import('./api/api')) },
];
