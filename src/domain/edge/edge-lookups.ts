import type { SpentBudget } from '../../db/tables/playback/delivery-budget.js';
import type { Clock } from '../../lib/clock.js';
import { KinoraError } from '../../lib/errors.js';
import { TtlCache } from '../../lib/ttl-cache.js';
import type { Origin } from '../../net/fetch-origin.js';
import type { AccessRows } from '../playback/access-check.js';
import { type FoundPlaybackId, LOOKUP_PATH, type Lookup, type LookupResponse } from './edge-calls.js';
import { EDGE_HEADER } from './edge-token.js';

interface EdgeOrigin {
  readonly origin: Origin;
  readonly token: string;
}

/** Calls an internal route of the origin. @throws KinoraError `config_invalid`, `unavailable` */
export const callOrigin = async ({ origin, token }: EdgeOrigin, path: string, body: unknown): Promise<Buffer> => {
  const response = await origin.fetch({
    method: 'POST',
    path,
    headers: { [EDGE_HEADER]: token, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response.body as AsyncIterable<Buffer>) chunks.push(chunk);
  } catch (cause) {
    throw new KinoraError('unavailable', { cause, details: { stage: path } });
  }
  if (response.status === 404) {
    const message = 'The origin does not accept this edge: set KINORA_EDGE_SECRET to the same value on both.';
    throw new KinoraError('config_invalid', { messages: [message] });
  }
  if (response.status >= 300)
    throw new KinoraError('unavailable', { details: { stage: path, status: response.status } });
  return Buffer.concat(chunks);
};

/** Each takes about 300 bytes. */
const MAX_PLAYBACK_IDS = 100_000;

/** What an edge knows from its origin. */
export class EdgeLookups {
  readonly playbackIds: TtlCache<FoundPlaybackId>;
  readonly rows: AccessRows = {
    signingKeys: async (ids) => [...(await this.#lookup({ signingKeys: ids })).signingKeys],
    playbackRestrictions: async (ids) => [...(await this.#lookup({ playbackRestrictions: ids })).playbackRestrictions],
    publicRestrictions: async (ids) => {
      // Absent in the responses of older versions.
      const { publicRestrictions = [] } = await this.#lookup({ publicRestrictions: ids });
      return ids.map(
        (environmentId) =>
          publicRestrictions.find((row) => row.environmentId === environmentId) ?? {
            environmentId,
            restrictionId: null,
          },
      );
    },
  };
  readonly #edge: EdgeOrigin;

  constructor(edge: EdgeOrigin, clock: Clock) {
    this.#edge = edge;
    this.playbackIds = new TtlCache<FoundPlaybackId>({
      load: async (ids) =>
        new Map((await this.#lookup({ playbackIds: ids })).playbackIds.map((row) => [row.playbackId, row])),
      clock,
      limit: { maxBytes: MAX_PLAYBACK_IDS, sizeOf: () => 1 },
    });
  }

  /** Their times are ISO texts. @throws KinoraError `config_invalid`, `unavailable` */
  async spentBudgets(): Promise<readonly SpentBudget[]> {
    return (await this.#lookup({ budgets: true })).budgets ?? [];
  }

  /** @throws KinoraError `config_invalid` when the origin does not know this edge, `unavailable` */
  async check(): Promise<void> {
    await this.#lookup({});
  }

  async #lookup(asked: Lookup): Promise<LookupResponse> {
    return JSON.parse((await callOrigin(this.#edge, LOOKUP_PATH, asked)).toString()) as LookupResponse;
  }
}
