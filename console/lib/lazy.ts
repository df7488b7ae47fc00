import { type ComponentType, type LazyExoticComponent, lazy as loadOnce } from 'react';
import { whenReachable } from '../api/changes';

/**
 * A component that is loaded when it is first displayed; when the server is away, as soon as it is
 * back.
 */
// biome-ignore lint/suspicious/noExplicitAny: any properties.
export const lazy = <T extends ComponentType<any>>(load: () => Promise<{ default: T }>): LazyExoticComponent<T> =>
  loadOnce(() => load().catch(() => whenReachable().then(load)));
