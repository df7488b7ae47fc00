import { shortKey } from '#kinora/audience/beacons/key-words.js';

/** Fields of an event by their long names, such as `view_watch_time`. */
export type EventFields = Readonly<Record<string, unknown>> & { readonly event: string };

/** The body of a request that reports these events, as players write it. */
export const beaconOf = (events: readonly EventFields[], sentAtMs = Date.now()): string =>
  JSON.stringify({
    metadata: { transmission_timestamp: sentAtMs },
    events: events.map((event) =>
      Object.fromEntries(Object.entries(event).map(([name, value]) => [shortKey(name), value])),
    ),
  });

/** A player that reports one view. Only what is given is sent, beside what every event has. */
export class ReportingPlayer {
  readonly viewId: string;
  readonly #environmentId: string | undefined;
  #sequence = 0;

  constructor(environmentId: string | undefined, viewId: string) {
    this.#environmentId = environmentId;
    this.viewId = viewId;
  }

  event(event: string, fields: Readonly<Record<string, unknown>> = {}): EventFields {
    this.#sequence += 1;
    return {
      event,
      ...(this.#environmentId !== undefined && { env_key: this.#environmentId }),
      view_id: this.viewId,
      view_sequence_number: this.#sequence,
      viewer_time: Date.now(),
      player_playhead_time: 0,
      ...fields,
    };
  }
}

/** Sends a beacon to a server, as a page of another origin does. */
export const sendBeacon = (url: string, body: string, headers: Readonly<Record<string, string>> = {}) =>
  fetch(`${url}/`, { method: 'POST', body, headers: { 'content-type': 'text/plain;charset=UTF-8', ...headers } });
