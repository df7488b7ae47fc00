import type { Database } from '#kinora/db/database.js';
import type { NewRow, Row } from '#kinora/db/schema.js';

type View = Row<'video_view'>;

/** What a test says of a view; the rest is unknown. */
export type ViewFields = Pick<View, 'id' | 'started_at'> & Partial<View>;

/** Events of `playing@4.5`, so many seconds after the start of the view. */
export const eventsAt = (startedAt: Date, text: string): View['events'] =>
  text.split(' ').map((event) => {
    const [name, seconds] = event.split('@');
    return [name!, startedAt.getTime() + Number(seconds) * 1000, 0, null];
  });

/** Writes views as the collector would. */
export const storeViews = async (
  { queryable }: Pick<Database, 'queryable'>,
  environmentId: string,
  views: readonly ViewFields[],
): Promise<void> => {
  const rows = views.map((view) => ({
    seen_at: view.ended_at ?? view.started_at,
    ...view,
    environment_id: environmentId,
    dimensions: JSON.stringify(view.dimensions ?? {}),
    details: JSON.stringify(view.details ?? {}),
    ranges: JSON.stringify(view.ranges ?? []),
    events: JSON.stringify(view.events ?? []),
  }));
  for (let at = 0; at < rows.length; at += 200)
    await queryable
      .insertInto('video_view')
      .values(rows.slice(at, at + 200) as unknown as NewRow<'video_view'>[])
      .execute();
};
