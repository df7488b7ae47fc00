import { setTimeout as delay } from 'node:timers/promises';
import { KinoraError } from '../lib/errors.js';
import { createAddressPolicy } from './address.js';
import type { ChatMessage, ChatModel, ChatRequest } from './chat-model.js';
import { HttpClient, isTotalLimit } from './http-client.js';
import type { Resolve } from './resolve-host.js';

export interface ChatClientOptions {
  /** The base URL of the API, such as `http://localhost:11434` or `https://host/v1`. */
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly model?: string | undefined;
  /** Answers questions with images. */
  readonly visionModel?: string | undefined;
  readonly resolve?: Resolve;
  /** The time limit for one answer. */
  readonly limitMs?: number;
  /** The longest time without a byte, once an answer has begun. */
  readonly bodyStallMs?: number;
  /** The delay before the second try; longer before the third. */
  readonly retryDelayMs?: number;
}

/** Without a GPU, a small model needs minutes for a long answer. */
const LIMIT_MS = 10 * 60_000;
/** Some providers answer at once and send blank lines while the model works. */
const BODY_STALL_MS = 2 * 60_000;
const MAX_TRIES = 3;
const RETRY_DELAY_MS = 2000;
const MAX_RETRY_AFTER_MS = 60_000;
/** Many times the longest requested answer. */
const MAX_ANSWER_BYTES = 8 * 2 ** 20;
const RETRIED_STATUSES: readonly number[] = [408, 409, 425, 429, 500, 502, 503, 504];

interface HttpAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly text: string;
}

const failed = (message: string, cause?: unknown): KinoraError =>
  new KinoraError('provider_failed', { messages: [message], cause });

const contentOf = ({ text, images = [] }: ChatMessage): unknown =>
  images.length === 0
    ? text
    : [{ type: 'text', text }, ...images.map((url) => ({ type: 'image_url', image_url: { url } }))];

/**
 * Asks over HTTP. The operator configured the URL, so it may be internal; metadata services are
 * still refused.
 */
export class ChatClient implements ChatModel {
  private readonly client: HttpClient;
  private readonly endpoint: URL | undefined;
  private readonly isAllowed = createAddressPolicy(true);

  constructor(private readonly options: ChatClientOptions) {
    const { url, resolve, limitMs = LIMIT_MS, bodyStallMs = BODY_STALL_MS } = options;
    this.endpoint = url === undefined ? undefined : new URL(`${url.replace(/\/v1$/, '')}/v1/chat/completions`);
    this.client = new HttpClient({
      peer: 'provider',
      limits: { totalMs: limitMs, stallMs: bodyStallMs },
      messages: { stallMs: 'The answer stalled' },
      resolve,
    });
  }

  isConfigured(kind: 'text' | 'vision'): boolean {
    return this.endpoint !== undefined && this.modelFor(kind) !== undefined;
  }

  async ask({ messages, schema, schemaName, signal }: ChatRequest): Promise<string> {
    const { retryDelayMs = RETRY_DELAY_MS } = this.options;
    const { endpoint } = this;
    const name = this.modelFor(messages.some(({ images = [] }) => images.length > 0) ? 'vision' : 'text');
    if (endpoint === undefined || name === undefined) throw new KinoraError('provider_unavailable');
    const body = JSON.stringify({
      model: name,
      messages: messages.map((message) => ({ role: message.role, content: contentOf(message) })),
      temperature: 0,
      stream: false,
      response_format: { type: 'json_schema', json_schema: { name: schemaName, strict: true, schema } },
    });
    for (let tries = 1; ; tries += 1) {
      const answer = await this.askOnce(endpoint, body, signal);
      if (!(answer instanceof KinoraError)) {
        if (answer.status === 200) return readContent(answer.text);
        if (!RETRIED_STATUSES.includes(answer.status) || tries === MAX_TRIES)
          throw failed(`The provider answered with status ${answer.status}.`, new Error(answer.text.slice(0, 500)));
      } else if (tries === MAX_TRIES) throw answer;
      await delay(pauseMs(answer, retryDelayMs * 3 ** (tries - 1)), undefined, { signal });
    }
  }

  private modelFor(kind: 'text' | 'vision'): string | undefined {
    return kind === 'vision' ? this.options.visionModel : this.options.model;
  }

  private async askOnce(url: URL, body: string, signal: AbortSignal): Promise<HttpAnswer | KinoraError> {
    try {
      return await this.post(url, body, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof KinoraError) throw error;
      return failed(
        isTotalLimit(error) ? 'The provider did not answer in time.' : 'The provider could not be reached.',
        error,
      );
    }
  }

  private async post(url: URL, body: string, signal: AbortSignal): Promise<HttpAnswer> {
    const { key } = this.options;
    const response = await this.client.send({
      method: 'POST',
      url,
      body,
      signal,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
      checkAddresses: (addresses) => {
        if (!addresses.every((address) => this.isAllowed(address)))
          throw failed('The address of the provider is not allowed.');
      },
    });
    const bytes = await response.bytes(MAX_ANSWER_BYTES, () => failed('The answer of the provider is too large.'));
    return { status: response.status, retryAfter: response.header('retry-after'), text: bytes.toString() };
  }
}

const pauseMs = (answer: HttpAnswer | KinoraError, defaultMs: number): number => {
  const seconds = answer instanceof KinoraError ? Number.NaN : Number(answer.retryAfter ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds * 1000, MAX_RETRY_AFTER_MS) : defaultMs;
};

/** @throws KinoraError `provider_failed` for a body in another format */
const readContent = (text: string): string => {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    throw failed('The provider did not answer with JSON.', error);
  }
  const content = (body as { choices?: { message?: { content?: unknown } }[] } | null)?.choices?.[0]?.message?.content;
  if (typeof content !== 'string') throw failed('The answer of the provider has no text.');
  return content;
};
