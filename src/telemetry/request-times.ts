/**
 * Upper bounds in seconds: from a response out of memory to one that waited for a whole segment to
 * be made.
 */
export const REQUEST_SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;

export interface EndedRequest {
  readonly method: string;
  /** The pattern that matched. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
}

interface Series {
  /** As the text format writes them. */
  readonly labels: string;
  /**
   * For each upper bound the requests up to it and above the one before; the last entry has no
   * bound.
   */
  readonly counts: number[];
  seconds: number;
}

/** JSON escapes what the text format escapes: backslashes, quotes and line breaks. */
const label = (name: string, value: string | number): string => `${name}=${JSON.stringify(String(value))}`;

/**
 * The histogram of request durations, in seconds. prom-client, which keeps the other metrics, joins
 * the labels to one text at each observation, a tenth of the time that a playlist takes. Here,
 * three lookups find the series (decision 24).
 */
export class RequestTimes {
  readonly #name: string;
  readonly #help: string;
  readonly #routes = new Map<string, Map<string, Map<number, Series>>>();

  constructor(name: string, help: string) {
    this.#name = name;
    this.#help = help;
  }

  count({ method, route, status, durationMs }: EndedRequest): void {
    const series = this.#routes.get(route)?.get(method)?.get(status) ?? this.#add(method, route, status);
    const seconds = durationMs / 1000;
    let bucket = 0;
    while (bucket < REQUEST_SECONDS.length && seconds > REQUEST_SECONDS[bucket]!) bucket += 1;
    series.counts[bucket]! += 1;
    series.seconds += seconds;
  }

  /** In the Prometheus text format. */
  read(): string {
    const all = [...this.#routes.values()].flatMap((methods) =>
      [...methods.values()].flatMap((statuses) => [...statuses.values()]),
    );
    const [name, help] = [this.#name, this.#help];
    const lines = all.flatMap((series) => this.#linesOf(series));
    return [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...lines, ''].join('\n');
  }

  #add(method: string, route: string, status: number): Series {
    const methods = this.#routes.get(route) ?? new Map<string, Map<number, Series>>();
    const statuses = methods.get(method) ?? new Map<number, Series>();
    const labels = [label('method', method), label('route', route), label('status', status)].join(',');
    const series = { labels, counts: new Array<number>(REQUEST_SECONDS.length + 1).fill(0), seconds: 0 };
    this.#routes.set(route, methods.set(method, statuses.set(status, series)));
    return series;
  }

  #linesOf({ labels, counts, seconds }: Series): string[] {
    const name = this.#name;
    let total = 0;
    const buckets = counts.map((count, index) => {
      total += count;
      return `${name}_bucket{${label('le', REQUEST_SECONDS[index] ?? '+Inf')},${labels}} ${total}`;
    });
    return [...buckets, `${name}_sum{${labels}} ${seconds}`, `${name}_count{${labels}} ${total}`];
  }
}
