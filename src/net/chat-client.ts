import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { KinoraError } from '../lib/errors.js';
import { createLinkedAbort } from '../lib/linked-abort.js';
import { createAddressPolicy } from './address.js';
import type { ChatMessage, ChatModel, ChatRequest } from './chat-model.js';
import { pinnedLookup, type Resolve, resolveHost } from './resolve-host.js';

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
export const createChatClient = (options: ChatClientOptions): ChatModel => {
  const { url, key, model, visionModel, limitMs = LIMIT_MS, retryDelayMs = RETRY_DELAY_MS } = options;
  const { bodyStallMs = BODY_STALL_MS } = options;
  const isAllowed = createAddressPolicy(true);
  const endpoint = url === undefined ? undefined : new URL(`${url.replace(/\/v1$/, '')}/v1/chat/completions`);
  const modelFor = (kind: 'text' | 'vision') => (kind === 'vision' ? visionModel : model);

  const post = async (target: URL, body: string, signal: AbortSignal): Promise<HttpAnswer> => {
    const addresses = await resolveHost(target, signal, options.resolve);
    if (!addresses.every(({ address }) => isAllowed(address)))
      throw failed('The address of the provider is not allowed.');
    const response = await send(target, body, {
      lookup: pinnedLookup(addresses),
      signal,
      bodyStallMs,
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        accept: 'application/json',
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
    });
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MAX_ANSWER_BYTES) throw failed('The answer of the provider is too large.');
      chunks.push(chunk);
    }
    const retryAfter = response.headers['retry-after'];
    return { status: response.statusCode!, retryAfter, text: Buffer.concat(chunks).toString() };
  };

  const askOnce = async (target: URL, body: string, signal: AbortSignal): Promise<HttpAnswer | KinoraError> => {
    using limited = createLinkedAbort(signal, limitMs);
    try {
      return await post(target, body, limited.signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof KinoraError) throw error;
      return failed(
        limited.isLate ? 'The provider did not answer in time.' : 'The provider could not be reached.',
        error,
      );
    }
  };

  return {
    isConfigured: (kind) => endpoint !== undefined && modelFor(kind) !== undefined,
    ask: async ({ messages, schema, schemaName, signal }: ChatRequest) => {
      const name = modelFor(messages.some(({ images = [] }) => images.length > 0) ? 'vision' : 'text');
      if (endpoint === undefined || name === undefined) throw new KinoraError('provider_unavailable');
      const body = JSON.stringify({
        model: name,
        messages: messages.map((message) => ({ role: message.role, content: contentOf(message) })),
        temperature: 0,
        stream: false,
        response_format: { type: 'json_schema', json_schema: { name: schemaName, strict: true, schema } },
      });
      for (let tries = 1; ; tries += 1) {
        const answer = await askOnce(endpoint, body, signal);
        if (!(answer instanceof KinoraError)) {
          if (answer.status === 200) return readContent(answer.text);
          if (!RETRIED_STATUSES.includes(answer.status) || tries === MAX_TRIES)
            throw failed(`The provider answered with status ${answer.status}.`, new Error(answer.text.slice(0, 500)));
        } else if (tries === MAX_TRIES) throw answer;
        await delay(pauseMs(answer, retryDelayMs * 3 ** (tries - 1)), undefined, { signal });
      }
    },
  };
};

const pauseMs = (answer: HttpAnswer | KinoraError, defaultMs: number): number => {
  const seconds = answer instanceof KinoraError ? Number.NaN : Number(answer.retryAfter ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds * 1000, MAX_RETRY_AFTER_MS) : defaultMs;
};

interface Sending {
  readonly lookup: ReturnType<typeof pinnedLookup>;
  readonly signal: AbortSignal;
  readonly bodyStallMs: number;
  readonly headers: Record<string, string | number>;
}

const send = (target: URL, body: string, { bodyStallMs, ...sending }: Sending): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const request = (target.protocol === 'https:' ? httpsRequest : httpRequest)(target, {
      method: 'POST',
      agent: false,
      ...sending,
    });
    request.once('response', (response) => {
      request.setTimeout(bodyStallMs, () => request.destroy(new Error('The answer stalled')));
      resolve(response);
    });
    request.once('upgrade', (_, socket) => {
      socket.destroy();
      reject(new Error('The provider switched protocols'));
    });
    // Stays for the life of the request: later failures reach the reader of the body.
    request.on('error', reject);
    request.end(body);
  });

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
