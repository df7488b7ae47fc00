import type { UseQueryOptions } from '@tanstack/react-query';
import { Trash2 } from 'lucide-react';
import type { ReactNode } from 'react';
import { IconButton } from '../../ui/button';
import { confirm } from '../../ui/confirm';
import { Loaded, Section } from '../../ui/page';
import { type Column, Table } from '../../ui/table';
import { useAction } from '../../ui/use-action';

interface ListSectionProps<Item extends { readonly id: string }> {
  readonly title: string;
  // biome-ignore lint/suspicious/noExplicitAny: the keys of queries differ.
  readonly query: UseQueryOptions<readonly Item[], Error, readonly Item[], any>;
  readonly columns: readonly Column<Item>[];
  /** What stands in place of an empty list: what such a thing is for. */
  readonly empty: ReactNode;
  /** The button that adds one. */
  readonly action?: ReactNode;
  /** Absent for those who may not delete. */
  readonly remove?: {
    /** Such as `signing key`. */
    readonly what: string;
    /** What follows from it. */
    readonly consequence: string;
    /** The verb; "Delete" unless told. */
    readonly verb?: string;
    readonly run: (id: string) => Promise<unknown>;
    /** Rows without the button. */
    readonly isDone?: (item: Item) => boolean;
  };
}

/** A list of things that are configured, each with a button that deletes it. */
export const ListSection = <Item extends { readonly id: string }>(props: ListSectionProps<Item>): ReactNode => {
  const { title, query, columns, empty, action, remove } = props;
  const removing = useAction((id: string) => remove!.run(id), { refresh: [query.queryKey] });
  const verb = remove?.verb ?? 'Delete';
  const ask = async (id: string): Promise<void> => {
    const { what, consequence } = remove!;
    const isConfirmed = await confirm({ title: `${verb} this ${what}?`, text: consequence, action: verb });
    if (isConfirmed) removing.mutate(id);
  };
  const removeColumn: Column<Item> = {
    key: 'remove',
    title: verb,
    isTitleHidden: true,
    isEnd: true,
    cell: (item) =>
      !remove?.isDone?.(item) && (
        <IconButton
          look="delete"
          label={`${verb} ${item.id}`}
          icon={<Trash2 aria-hidden />}
          onClick={() => void ask(item.id)}
        />
      ),
  };
  return (
    <Section title={title} actions={action}>
      <Loaded query={query}>
        {(items) =>
          items.length === 0 ? (
            <p className="soft">{empty}</p>
          ) : (
            <Table
              label={title}
              columns={remove ? [...columns, removeColumn] : columns}
              rows={items}
              keyOf={({ id }) => id}
            />
          )
        }
      </Loaded>
    </Section>
  );
};

/** The column of an ID. */
export const idColumn: Column<{ readonly id: string }> = {
  key: 'id',
  title: 'ID',
  cell: ({ id }) => <code>{id}</code>,
};
