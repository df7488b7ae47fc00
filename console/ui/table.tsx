import { ArrowDown, ArrowUp } from 'lucide-react';
import type { ReactNode } from 'react';

export interface Column<Row> {
  readonly key: string;
  /** The heading; `hidden-text` of it stays for screen readers when `isTitleHidden`. */
  readonly title: string;
  readonly isTitleHidden?: boolean;
  readonly cell: (row: Row) => ReactNode;
  /** Numbers and times stand at the end of their column. */
  readonly isEnd?: boolean;
  /** Narrow windows leave it out. */
  readonly isWide?: boolean;
  /** The name by which the list can be sorted. */
  readonly sort?: string;
}

interface TableProps<Row> {
  /** What the table holds, for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** The name by which the rows are sorted; `-` before it means descending. */
  readonly sort?: string | undefined;
  readonly onSort?: (sort: string) => void;
  /** The keys of the selected rows, when rows can be selected. */
  readonly selected?: ReadonlySet<string>;
  readonly onSelect?: (selected: ReadonlySet<string>) => void;
  /** What a row is called, for the label of its check box. */
  readonly nameOf?: (row: Row) => string;
}

const classOf = <Row,>({ isEnd, isWide, key }: Column<Row>): string =>
  ['cell', `cell-${key}`, isEnd && 'cell-end', isWide && 'cell-wide'].filter(Boolean).join(' ');

/**
 * Rows with columns; narrow windows show each row as a card. Sorting and selecting belong to the
 * screen; the table shows them.
 */
export const Table = <Row,>(props: TableProps<Row>): ReactNode => {
  const { label, columns, rows, keyOf, sort, onSort, selected, onSelect, nameOf = keyOf } = props;
  const isAllSelected = rows.length > 0 && rows.every((row) => selected?.has(keyOf(row)));
  const toggle = (keys: readonly string[], isSelected: boolean): void => {
    const next = new Set(selected);
    for (const key of keys) isSelected ? next.add(key) : next.delete(key);
    onSelect?.(next);
  };
  return (
    <div className="table-frame">
      <table className="table" aria-label={label}>
        <thead>
          <tr>
            {selected && (
              <th scope="col" className="cell cell-check">
                <input
                  type="checkbox"
                  aria-label="Select all rows of this page"
                  checked={isAllSelected}
                  onChange={({ target }) => toggle(rows.map(keyOf), target.checked)}
                />
              </th>
            )}
            {columns.map((column) => (
              <Heading key={column.key} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const key = keyOf(row);
            const isSelected = selected?.has(key) ?? false;
            return (
              <tr key={key} data-selected={isSelected || undefined}>
                {selected && (
                  <td className="cell cell-check">
                    <input
                      type="checkbox"
                      aria-label={`Select ${nameOf(row)}`}
                      checked={isSelected}
                      onChange={({ target }) => toggle([key], target.checked)}
                    />
                  </td>
                )}
                {columns.map((column) => (
                  <td
                    key={column.key}
                    className={classOf(column)}
                    data-label={column.isTitleHidden ? undefined : column.title}
                  >
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
};

interface HeadingProps<Row> {
  readonly column: Column<Row>;
  readonly sort: string | undefined;
  readonly onSort: ((sort: string) => void) | undefined;
}

const Heading = <Row,>({ column, sort, onSort }: HeadingProps<Row>): ReactNode => {
  if (column.sort === undefined || !onSort)
    return (
      <th scope="col" className={classOf(column)}>
        <span className={column.isTitleHidden ? 'hidden-text' : undefined}>{column.title}</span>
      </th>
    );
  const ascending = column.sort;
  const descending = `-${column.sort}`;
  const order = sort === ascending ? 'ascending' : sort === descending ? 'descending' : undefined;
  return (
    <th scope="col" className={classOf(column)} aria-sort={order}>
      <button
        type="button"
        className="sort-button"
        onClick={() => onSort(order === 'descending' ? ascending : descending)}
      >
        {column.title}
        {order === 'ascending' && <ArrowUp aria-hidden />}
        {order === 'descending' && <ArrowDown aria-hidden />}
      </button>
    </th>
  );
};

interface PagerProps {
  readonly page: number;
  readonly pageSize: number;
  readonly total: number;
  readonly onPage: (page: number) => void;
}

/** The way to other pages of a list; nothing, when there is one page. */
export const Pager = ({ page, pageSize, total, onPage }: PagerProps): ReactNode => {
  const last = Math.max(1, Math.ceil(total / pageSize));
  if (last === 1 && page === 1) return null;
  return (
    <nav className="pager" aria-label="Pages">
      <button type="button" className="button button-normal" disabled={page <= 1} onClick={() => onPage(page - 1)}>
        Previous
      </button>
      <span>
        Page {page} of {last}
      </span>
      <button type="button" className="button button-normal" disabled={page >= last} onClick={() => onPage(page + 1)}>
        Next
      </button>
    </nav>
  );
};
