import { type ReactNode, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { theme } from '../layout/theme';

/** A color of styles/base.css. */
export type PlotColor = 'accent' | 'busy';

export interface PlotSeries {
  readonly name: string;
  readonly color: PlotColor;
  readonly isDashed?: boolean;
  /** One per position; null leaves a gap. */
  readonly values: readonly (number | null)[];
}

export interface PlotProps {
  /** What it shows, for screen readers. */
  readonly label: string;
  readonly look: 'bars' | 'line';
  readonly heightPx: number;
  /** Where the values are, ascending. */
  readonly positions: readonly number[];
  readonly series: readonly PlotSeries[];
  readonly formatPosition: (position: number) => string;
  readonly formatValue: (value: number) => string;
  /** The largest value of the axis is at least this, so that little does not look like much. */
  readonly atLeast?: number;
  /** Without axes: the positions fill the width, as on a time slider. */
  readonly isBare?: boolean;
  /** Called with the index that is pointed at; undefined when none is. */
  readonly onPoint?: (index: number | undefined) => void;
  readonly onPick?: (index: number) => void;
}

const FONT = '12px system-ui, sans-serif';
const LABEL_PX = 7;
const LABEL_GAP_PX = 24;
const MAX_BAR_PX = 44;

const darkSystem = matchMedia('(prefers-color-scheme: dark)');
const subscribeToColors = (listener: () => void): (() => void) => {
  darkSystem.addEventListener('change', listener);
  const unsubscribe = theme.subscribe(listener);
  return () => {
    darkSystem.removeEventListener('change', listener);
    unsubscribe();
  };
};

/** A canvas does not know `var()` and `light-dark()`, but the style of an element does. */
const resolveColor = (parent: HTMLElement, color: string): string => {
  const probe = document.createElement('span');
  probe.style.color = color;
  parent.append(probe);
  const resolved = getComputedStyle(probe).color;
  probe.remove();
  return resolved;
};

/** Equal steps between labels, as few that they do not touch. */
const splitsOf = (positions: readonly number[], widthPx: number, format: PlotProps['formatPosition']): number[] => {
  const labelPx = Math.max(1, ...positions.map((position) => format(position).length)) * LABEL_PX + LABEL_GAP_PX;
  const step = Math.max(1, Math.ceil(positions.length / Math.max(1, Math.floor(widthPx / labelPx))));
  return positions.filter((_, index) => index % step === 0);
};

/** The properties at the moment: the plot stays while its values change. */
type Read = () => PlotProps;

const axesOf = (read: Read, parent: HTMLElement): UPlot.Axis[] => {
  if (read().isBare) return [{ show: false }, { show: false }];
  const [text, border] = [resolveColor(parent, 'var(--text-soft)'), resolveColor(parent, 'var(--border)')];
  const shared = { stroke: text, font: FONT, ticks: { show: false } };
  return [
    {
      ...shared,
      grid: { show: false },
      size: 32,
      gap: 9,
      splits: (plot) => splitsOf(read().positions, plot.width, read().formatPosition),
      values: (_, splits) => splits.map(read().formatPosition),
    },
    {
      ...shared,
      grid: { stroke: border, width: 1 },
      space: 36,
      values: (_, splits) => splits.map(read().formatValue),
      size: (_, values) => Math.max(...(values ?? ['']).map((value) => value.length)) * LABEL_PX + 14,
    },
  ];
};

const seriesOf = ({ look, series, isBare }: PlotProps, parent: HTMLElement): UPlot.Series[] =>
  series.map(({ name, color, isDashed }) => {
    const stroke = resolveColor(parent, `var(--${color})`);
    const fill = resolveColor(parent, `color-mix(in srgb, var(--${color}) 18%, transparent)`);
    return {
      label: name,
      stroke,
      ...(look === 'bars'
        ? { fill: stroke, width: 0, paths: UPlot.paths.bars!({ size: [0.72, MAX_BAR_PX] }), points: { show: false } }
        : { width: 2, ...(isDashed ? { dash: [6, 4] } : { fill }) }),
      // Single values between gaps have no line.
      ...(look === 'line' && { points: isBare ? { show: false } : { size: 4, fill: stroke } }),
    };
  });

const rangeOf = ({ look, positions }: PlotProps): [number, number] => {
  const [first, last] = [positions[0] ?? 0, positions.at(-1) ?? 1];
  const step = positions.length > 1 ? positions[1]! - first : 1;
  // Half of the first and last bar would be cut off.
  return look === 'bars' ? [first - step / 2, last + step / 2] : [first, Math.max(last, first + step)];
};

const optionsOf = (read: Read, parent: HTMLElement): UPlot.Options => ({
  width: parent.clientWidth,
  height: read().heightPx,
  ...(read().isBare && { padding: [4, 0, 0, 0] }),
  legend: { show: false },
  cursor: { drag: { x: false, y: false }, y: false, points: { show: read().look === 'line' } },
  scales: {
    x: { time: false, range: () => rangeOf(read()) },
    y: { range: (_, _min, max) => [0, Math.max(max * 1.08, read().atLeast ?? 0) || 1] },
  },
  axes: axesOf(read, parent),
  series: [{}, ...seriesOf(read(), parent)],
  hooks: { setCursor: [({ cursor: { idx } }) => read().onPoint?.(idx ?? undefined)] },
});

/**
 * Draws values over time. Its file, with the library that draws, is loaded when it is displayed.
 */
const Plot = (props: PlotProps): ReactNode => {
  const frame = useRef<HTMLDivElement>(null);
  const colors = useSyncExternalStore(subscribeToColors, () => `${theme.get()} ${darkSystem.matches}`);
  const latest = useRef(props);
  latest.current = props;
  const [plot, setPlot] = useState<UPlot>();
  const { label, look, heightPx, positions, series, onPick } = props;
  const shape = [look, heightPx, colors, ...series.map(({ name }) => name)].join(' ');

  // biome-ignore lint/correctness/useExhaustiveDependencies: it is drawn anew for another shape or theme.
  useEffect(() => {
    const parent = frame.current!;
    const created = new UPlot(
      optionsOf(() => latest.current, parent),
      [[], ...latest.current.series.map(() => [])],
      parent,
    );
    const observer = new ResizeObserver(() => created.setSize({ width: parent.clientWidth, height: heightPx }));
    observer.observe(parent);
    setPlot(created);
    return () => {
      observer.disconnect();
      created.destroy();
    };
  }, [shape]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the lists are new with each rendering.
  useEffect(() => {
    plot?.setData([[...positions], ...series.map(({ values }) => [...values])]);
  }, [plot, JSON.stringify([positions, series.map(({ values }) => values)])]);

  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the same.
    <div
      className="plot"
      ref={frame}
      role="img"
      aria-label={label}
      onClick={() => {
        const index = plot?.cursor.idx;
        if (typeof index === 'number') onPick?.(index);
      }}
    />
  );
};
export default Plot;
