import type { ComponentType, LazyExoticComponent } from 'react';
import type { LiveStreamDetails } from '../../api/live-streams';
import { lazy } from '../../lib/lazy';

interface LivePart {
  /** Below /console/live/:id; empty for the first one. */
  readonly path: string;
  readonly title: string;
  readonly component: LazyExoticComponent<ComponentType<{ readonly stream: LiveStreamDetails }>>;
  /** The permission without which there is nothing to see. */
  readonly needs?: string;
}

/**
 * The parts of the screen of a live stream. A new one is a component that gets the live stream, and
 * a line here.
 */
export const liveParts: readonly LivePart[] = [
  { path: '', title: 'Encoder', component: lazy(() => import('./encoder')) },
  { path: 'playback', title: 'Playback', component: lazy(() => import('./playback')) },
  { path: 'recordings', title: 'Recordings', component: lazy(() => import('./recordings')) },
  { path: 'audience', title: 'Audience', component: lazy(() => import('./audience')), needs: 'data:read' },
  { path: 'simulcast', title: 'Simulcast', component: lazy(() => import('./simulcast')) },
  { path: 'settings', title: 'Settings', component: lazy(() => import('./settings')) },
  { path: 'events', title: 'Events', component: lazy(() => import('./events')), needs: 'system:read' },
  { path: 'api', title: 'API', component: lazy(() => import('./api')) },
];
