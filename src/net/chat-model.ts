/** One question to a language model. */
export interface ChatRequest {
  /** The model that sees when there are images. */
  readonly messages: readonly ChatMessage[];
  /** JSON Schema of the answer and its name. */
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

/** A server that speaks `/v1/chat/completions`. */
export interface ChatModel {
  /** Whether questions of this kind can be asked at all. */
  isConfigured(kind: 'text' | 'vision'): boolean;
  /**
   * The text of the answer, as the model wrote it.
   * @throws KinoraError `provider_unavailable` when none is configured, `provider_failed` after its own tries
   */
  ask(request: ChatRequest): Promise<string>;
}
