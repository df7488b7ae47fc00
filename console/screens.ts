/**
 * The table of screens. To add one:
 *
 * 1. Make a folder in `screens/` whose main file exports the screen as its default, framed by
 *    `Page` (ui/page.tsx).
 * 2. Add it here. It is loaded when it is first opened; `navigation` puts it into the menu. A
 *    screen of one thing, such as `/webhooks/:id`, gets its ID as `params` and stands in no menu.
 * 3. Put its queries into `api/`, with `queryOptions`. A key that begins with a word of
 *    `changeTypes` (api/changes.ts) is loaded again when the server says that something changed:
 *    `['webhook', 'list', …]`, `['webhook', id, …]`.
 *
 * Parts to make it of, in `ui/`: `Loaded` shows what a query answers, its wait and its failure;
 * `Table` and `Pager` lists; `TextField`, `SelectField`, `CheckField` forms; `Dialog` what opens
 * over the screen; `confirm()` asks before deleting; `useAction` does a change, says when it is
 * done or why it failed, and loads again what it changed; `notify()` says something; `CopyButton`
 * and `CodeBlock` copy; `EmptyState` fills an empty list; `Status` displays a status. In `lib/`,
 * format.ts has dates, durations and sizes. Values in `styles/base.css` are the only colors, in
 * light and dark.
 */
import {
  Activity,
  Bot,
  ChartColumn,
  Clapperboard,
  Gauge,
  KeyRound,
  LockKeyhole,
  Radio,
  Upload,
  Webhook,
} from 'lucide-react';
import type { ComponentType, LazyExoticComponent } from 'react';
import { lazy } from './lib/lazy';

// biome-ignore lint/suspicious/noExplicitAny: the parameters follow from the path.
type ScreenComponent = ComponentType<any>;

interface Screen {
  /** Below /console. */
  readonly path: string;
  readonly component: LazyExoticComponent<ScreenComponent>;
  readonly navigation?: {
    readonly title: string;
    readonly icon: ComponentType<{ readonly 'aria-hidden': boolean }>;
    /** Screens with the same name stand together. */
    readonly group: 'Content' | 'Observe' | 'Configure';
    /** Where it leads to; the path of the screen when absent. */
    readonly path?: string;
    /**
     * The permission without which there is nothing to see, or several of which one is enough;
     * `administer` for the whole server.
     */
    readonly needs?: string | readonly string[];
  };
}

export const screens: readonly Screen[] = [
  {
    path: '/assets',
    component: lazy(() => import('./screens/assets/assets')),
    navigation: { title: 'Assets', icon: Clapperboard, group: 'Content', needs: 'video:read' },
  },
  {
    path: '/live',
    component: lazy(() => import('./screens/live-streams/live-streams')),
    navigation: { title: 'Live streams', icon: Radio, group: 'Content', needs: 'video:read' },
  },
  {
    path: '/events',
    component: lazy(() => import('./screens/events/events')),
    navigation: { title: 'Events', icon: Activity, group: 'Observe', needs: 'system:read' },
  },
  {
    path: '/audience/:part?',
    component: lazy(() => import('./screens/audience/audience')),
    navigation: {
      ...{ title: 'Audience', icon: ChartColumn, group: 'Observe', path: '/audience' },
      needs: ['data:read', 'video:read'],
    },
  },
  {
    path: '/webhooks',
    component: lazy(() => import('./screens/webhooks/webhooks')),
    navigation: { title: 'Webhooks', icon: Webhook, group: 'Configure', needs: 'system:read' },
  },
  {
    path: '/operations',
    component: lazy(() => import('./screens/operations/operations')),
    navigation: { title: 'Operations', icon: Gauge, group: 'Observe', needs: 'administer' },
  },
  { path: '/webhooks/:id', component: lazy(() => import('./screens/webhooks/webhook')) },
  {
    path: '/playback',
    component: lazy(() => import('./screens/settings/playback')),
    navigation: { title: 'Playback access', icon: LockKeyhole, group: 'Configure', needs: 'video:read' },
  },
  {
    path: '/directives',
    component: lazy(() => import('./screens/settings/robots')),
    navigation: { title: 'Directives', icon: Bot, group: 'Configure', needs: 'video:read' },
  },
  {
    path: '/access',
    component: lazy(() => import('./screens/settings/access')),
    navigation: { title: 'Tokens', icon: KeyRound, group: 'Configure', needs: 'administer' },
  },
  {
    path: '/uploads',
    component: lazy(() => import('./screens/uploads/uploads')),
    navigation: { title: 'Upload', icon: Upload, group: 'Content', needs: 'video:write' },
  },
  { path: '/live/:id/:part?', component: lazy(() => import('./screens/live-stream/live-stream')) },
  { path: '/assets/:id/:part?', component: lazy(() => import('./screens/asset/asset')) },
];

export const firstScreen = '/assets';
