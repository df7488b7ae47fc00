/** What came of one POST to a receiver: a status, or why there is none. */
export interface WebhookAnswer {
  readonly status?: number;
  /** Without what is beyond a few KiB. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The first KiB as text. */
  readonly body?: string;
  /** For people: `ECONNREFUSED`, `No answer within 5 s`. */
  readonly error?: string;
}

/** The only way to receivers: guarded like downloads, without redirects, with verified TLS. */
export interface WebhookSender {
  /**
   * False when connections to the http(s) URL would be refused, because its host is or resolves to an address that is not
   * allowed. A name that does not resolve now may do so later.
   */
  allows(address: string): Promise<boolean>;
  /**
   * Posts a JSON body; never throws. The status line must come within five seconds, everything included.
   * Aborting `signal` ends it at once, with an `error`.
   */
  send(address: string, message: WebhookMessage, signal?: AbortSignal): Promise<WebhookAnswer>;
}

export interface WebhookMessage {
  readonly body: string;
  /** Value of `mux-signature`. */
  readonly signature: string;
}
