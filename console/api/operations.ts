import { queryOptions } from '@tanstack/react-query';
import { get } from './client';

export interface Job {
  readonly id: string;
  readonly queue: string;
  readonly state: 'queued' | 'active' | 'done' | 'failed' | 'cancelled';
  readonly asset_id: string | null;
  /** Empty if the asset has none; null if it was deleted. */
  readonly asset_title: string | null;
  readonly attempt: number;
  readonly max_attempts: number;
  /** ISO 8601. */
  readonly created_at: string;
  /** When a queued job may start. */
  readonly run_at: string;
  readonly finished_at: string | null;
  readonly error: { readonly message?: string } | null;
}

/** Sizes are in bytes, times in seconds. */
export interface ServerFigures {
  readonly version: string;
  readonly node_version: string;
  readonly pid: number;
  readonly database: string;
  readonly data_dir: string;
  readonly uptime_seconds: number;
  readonly memory_bytes: number;
  readonly media_processes: number;
  readonly sandbox: string;
  readonly sandbox_advice: string | null;
  readonly webhook_lag_seconds: number;
  readonly cache_bytes: number;
  readonly cache_limit_bytes: number;
  readonly disk_free_bytes: number;
  readonly disk_is_low: boolean;
}

export interface Operations {
  readonly server: ServerFigures;
  readonly checks: readonly { readonly name: string; readonly status: 'ok' | 'failed'; readonly problem?: string }[];
  readonly jobs: readonly Job[];
}

/** @param assetId lists the jobs of this asset; all when it is empty */
export const operationsQuery = (assetId: string) =>
  queryOptions({
    queryKey: ['operations', 'list', assetId],
    queryFn: ({ signal }) => get<Operations>('/console/api/operations', { asset_id: assetId }, signal),
  });
