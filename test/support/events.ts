import { api } from './create-asset.js';

interface Server {
  readonly url: string;
  readonly token: { readonly id: string; readonly secret: string };
}

export interface WireEvent {
  readonly type: string;
  readonly object: { readonly type: string; readonly id: string };
  readonly data: Record<string, unknown>;
}

/** What was told about one object, the oldest first. */
export const eventsOf = async (server: Server, objectId: string): Promise<WireEvent[]> => {
  const answer = await api(server, 'GET', `/system/v1/events?object_id=${objectId}&limit=100`);
  return ((await answer.json()) as { data: WireEvent[] }).data.reverse();
};

/** Without what all of them begin with. */
export const eventTypes = async (server: Server, objectId: string): Promise<string[]> =>
  (await eventsOf(server, objectId)).map(({ type }) => type.replace('video.asset.', ''));
