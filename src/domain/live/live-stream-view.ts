import type { Row } from '../../db/schema.js';

/** Live streams and their parts as responses and events represent them. */
export type { LiveStreamView } from '../../db/tables/live/live-stream.js';
export type LiveStreamRecord = Row<'live_stream'>;
export type SimulcastTargetRecord = Row<'simulcast_target'>;
