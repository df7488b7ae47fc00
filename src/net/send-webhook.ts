/** The result of one POST to a receiver: a status, or why there is none. */
export interface WebhookResponse {
  readonly status?: number;
  /** Cut after a few KiB. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The first KiB as text. */
  readonly body?: string;
  /** For people: `ECONNREFUSED`, `No answer within 5 s`. */
  readonly error?: string;
}

/**
 * All webhook requests use this interface: they are restricted like downloads, follow no redirects
 * and verify TLS. A contract: `jobs` may not import the client.
 */
export interface WebhookSender {
  /**
   * False when connections to the http(s) URL would be refused because its host is, or resolves to,
   * a forbidden address. A name that does not resolve now may do so later.
   */
  allows(address: string): Promise<boolean>;
  /**
   * Posts a JSON body; never throws. The status line must arrive within five seconds of the call.
   * Aborting `signal` ends the request immediately with an `error`.
   */
  send(address: string, message: WebhookMessage, signal?: AbortSignal): Promise<WebhookResponse>;
}

export interface WebhookMessage {
  readonly body: string;
  /** The value of `mux-signature`. */
  readonly signature: string;
}
