import type { Database } from '../db/database.js';
import type { Clock } from '../lib/clock.js';
import { TtlCache } from '../lib/ttl-cache.js';
import { PointSeries, type PointWindow } from './calculations/monitoring.js';
import type { ViewFilter } from './requests/filters.js';
import type { MonitoringDimension } from './requests/monitoring-requests.js';
import { eachRecentView } from './tables/recent-views.js';

/** What is counted together. */
export interface MonitoredViews {
  readonly environmentId: string;
  readonly window: PointWindow;
  readonly filters: readonly ViewFilter[];
  readonly dimension?: MonitoringDimension;
}

/** Points of the views with each value of a dimension; without a dimension, null has all. */
export type SeriesByValue = ReadonlyMap<string | null, PointSeries>;

const LIFETIME_MS = 5000;
const MAX_BYTES = 32 * 2 ** 20;
/** Of a point with its counts. */
const POINT_BYTES = 150;
/** Values beyond are left out, so that made-up ones take a bounded amount of memory. */
const MAX_VALUES = 1000;

/**
 * What happens in views that are watched now. Whoever asks for the same within five seconds shares
 * a query.
 */
export class Monitor {
  readonly #database: Database;
  readonly #series: TtlCache<SeriesByValue>;

  constructor({ database, clock }: { readonly database: Database; readonly clock: Clock }) {
    this.#database = database;
    this.#series = new TtlCache({
      clock,
      load: async (keys) => {
        const loaded = new Map<string, SeriesByValue>();
        for (const key of keys) loaded.set(key, await this.#read(JSON.parse(key)));
        return loaded;
      },
      lifetimeMs: () => LIFETIME_MS,
      limit: {
        maxBytes: MAX_BYTES,
        sizeOf: (series) => [...series.values()].reduce((sum, { points }) => sum + points.length * POINT_BYTES, 0),
      },
    });
  }

  async series({ environmentId, window, filters, dimension }: MonitoredViews): Promise<SeriesByValue> {
    const { fromMs, toMs } = window;
    const key = JSON.stringify({ environmentId, window: { fromMs, toMs }, filters, dimension });
    return (await this.#series.find(key))!;
  }

  async #read({ environmentId, window, filters, dimension }: MonitoredViews): Promise<SeriesByValue> {
    const series = new Map<string | null, PointSeries>();
    await eachRecentView(this.#database.queryable, environmentId, window, { filters, dimension }, (view) => {
      let ofValue = series.get(view.value);
      if (!ofValue) {
        if (series.size >= MAX_VALUES) return;
        ofValue = new PointSeries(window);
        series.set(view.value, ofValue);
      }
      ofValue.add(view, window.toMs);
    });
    return series;
  }
}
