/** A request to a service of the operator: a license server or a key service. */
export interface ServiceCall {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** Networks that it may reach although they are private, beside those that are allowed to everybody. */
  readonly allowPrivate: boolean | readonly string[];
}

export interface ServiceAnswer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly body: Uint8Array;
}

/** The only way to these services: guarded like downloads, without redirects, with verified TLS. */
export interface ServiceCaller {
  /**
   * Any status is an answer. The whole answer must come within ten seconds.
   * @throws KinoraError `unavailable` when there is none, also because its address is not allowed
   */
  call(call: ServiceCall, signal?: AbortSignal): Promise<ServiceAnswer>;
}
