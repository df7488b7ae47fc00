/** One question to a language model. */
export interface ChatRequest {
  /** Questions with images go to the vision model. */
  readonly messages: readonly ChatMessage[];
  /** The JSON Schema of the answer, and its name. */
  readonly schema: object;
  readonly schemaName: string;
  readonly signal: AbortSignal;
}

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly text: string;
  /** `data:` URLs. */
  readonly images?: readonly string[];
}

/**
 * A server that implements `/v1/chat/completions`. A contract: `robots` may not import the client.
 */
export interface ChatModel {
  /** Whether questions of this kind can be asked. */
  isConfigured(kind: 'text' | 'vision'): boolean;
  /**
   * Returns the answer's text as the model wrote it.
   * @throws KinoraError `provider_unavailable` when none is configured, `provider_failed` after
   * retries
   */
  ask(request: ChatRequest): Promise<string>;
}
