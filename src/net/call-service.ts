/** A request to a service of the operator: a license server or a key service. */
export interface ServiceCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** Private networks that it may reach, in addition to those allowed for all requests. */
  readonly allowPrivate: boolean | readonly string[];
}

export interface ServiceResponse {
  readonly status: number;
  readonly contentType: string | undefined;
  /** The header of this name, if there is one. */
  readonly retryAfter?: string | undefined;
  readonly body: Uint8Array;
}

/**
 * All requests to these services use this interface: they are restricted like downloads, follow no
 * redirects and verify TLS. An interface, because the domain may import only the contracts of
 * `net`.
 */
export interface ServiceCaller {
  /**
   * Returns a response with any status. All of it must arrive within ten seconds.
   * @throws KinoraError `unavailable` when there is none, or the address is not allowed
   */
  call(call: ServiceCall, signal?: AbortSignal): Promise<ServiceResponse>;
}
