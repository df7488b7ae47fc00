import type { Transaction } from '../../db/database.js';
import type { NewRow, Row } from '../../db/schema.js';
import {
  findSimulcastTarget,
  insertSimulcastTargets,
  listSimulcastTargets,
  lockLiveStream,
  removeSimulcastTarget,
} from '../../db/tables/live/live-stream.js';
import { KinoraError } from '../../lib/errors.js';
import { isId, newId } from '../../lib/ids.js';
import type { DomainContext } from '../context.js';
import type { NewSimulcastTarget } from '../requests/live-stream-request.js';
import { recordSimulcastEvent } from './record-live-event.js';

const MAX_TARGETS = 6;

export const targetRow = (
  liveStreamId: string,
  { url, stream_key: key, passthrough }: NewSimulcastTarget,
): NewRow<'simulcast_target'> => ({
  id: newId(),
  live_stream_id: liveStreamId,
  url,
  stream_key: key || null,
  passthrough: passthrough || null,
  error_severity: null,
});

/** @throws KinoraError `not_found`, `invalid_parameters` during a broadcast or beyond the limit */
export const createSimulcastTarget = (
  context: DomainContext,
  environmentId: string,
  liveStreamId: string,
  request: NewSimulcastTarget,
): Promise<Row<'simulcast_target'>> =>
  changeTargets(context, environmentId, liveStreamId, async (tx) => {
    if ((await listSimulcastTargets(tx, liveStreamId)).length >= MAX_TARGETS)
      throw new KinoraError('invalid_parameters', {
        messages: [`A live stream can have at most ${MAX_TARGETS} simulcast targets`],
      });
    const [target] = await insertSimulcastTargets(tx, [targetRow(liveStreamId, request)]);
    await recordSimulcastEvent(context, tx, environmentId, 'created', target!);
    return target!;
  });

/** @throws KinoraError `not_found` */
export const getSimulcastTarget = async (
  context: DomainContext,
  liveStreamId: string,
  targetId: string,
): Promise<Row<'simulcast_target'>> => {
  const target = isId(targetId)
    ? await findSimulcastTarget(context.database.queryable, liveStreamId, targetId)
    : undefined;
  if (!target) throw new KinoraError('not_found');
  return target;
};

/** @throws KinoraError `not_found`, `invalid_parameters` during a broadcast */
export const deleteSimulcastTarget = async (
  context: DomainContext,
  environmentId: string,
  liveStreamId: string,
  targetId: string,
): Promise<void> => {
  if (!isId(targetId)) throw new KinoraError('not_found');
  await changeTargets(context, environmentId, liveStreamId, async (tx) => {
    const target = await findSimulcastTarget(tx, liveStreamId, targetId);
    if (!target) throw new KinoraError('not_found');
    await removeSimulcastTarget(tx, targetId);
    await recordSimulcastEvent(context, tx, environmentId, 'deleted', target);
  });
};

/** Targets change only between broadcasts, because a broadcast reads them when it begins. */
const changeTargets = async <T>(
  context: DomainContext,
  environmentId: string,
  liveStreamId: string,
  change: (tx: Transaction) => Promise<T>,
): Promise<T> => {
  if (!isId(liveStreamId)) throw new KinoraError('not_found');
  return context.database.transaction(async (tx) => {
    const stream = await lockLiveStream(tx, liveStreamId);
    if (stream?.environment_id !== environmentId) throw new KinoraError('not_found');
    if (stream.status === 'active' || stream.connected || stream.active_asset_id !== null)
      throw new KinoraError('invalid_parameters', {
        messages: ['Simulcast targets can only be changed while the live stream is idle'],
      });
    return change(tx);
  });
};
