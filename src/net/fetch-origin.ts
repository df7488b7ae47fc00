import type { Readable } from 'node:stream';

export interface OriginRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body?: Uint8Array | string;
  readonly signal?: AbortSignal;
}

export interface OriginResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readable;
}

/** Requests of an edge to its origin. A contract: other parts do not import the client. */
export interface Origin {
  /** @throws KinoraError `unavailable` when there is no response */
  fetch(request: OriginRequest): Promise<OriginResponse>;
  stop(): void;
}
