/**
 * NOTIFY channel: the payload is a change that a transaction has made (`readChange`). Triggers send
 * it.
 */
export const CHANGES = 'kinora_change';

export interface Change {
  /** Empty for jobs, which belong to the server. */
  readonly environmentId: string;
  readonly kind:
    | 'asset'
    | 'live_stream'
    | 'upload'
    | 'webhook'
    | 'event'
    | 'job'
    | 'signing_key'
    | 'playback_restriction'
    | 'delivery_budget'
    | 'public_playback';
  /**
   * `created`, `updated`, `deleted`; `delivery` of a webhook; the type of an event; the state of a
   * job.
   */
  readonly type: string;
  readonly id: string;
  /** Of a job that belongs to an asset. */
  readonly assetId: string | undefined;
}

export const readChange = (payload: string): Change => {
  const [environmentId, kind, type, id, assetId] = JSON.parse(payload);
  return { environmentId, kind, type, id, assetId: assetId ?? undefined };
};
