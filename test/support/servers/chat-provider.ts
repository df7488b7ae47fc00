import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the provider was asked. */
export interface Asked {
  readonly model: string;
  readonly authorization: string | undefined;
  /** Name of the schema: the prompt. */
  readonly prompt: string;
  readonly system: string;
  /** The text of the last message. */
  readonly text: string;
  readonly messages: readonly { readonly role: string }[];
  readonly images: readonly string[];
}

/**
 * An object is the right answer; a text is what the model writes; a status fails; `silent` never
 * answers; a function answers as it likes.
 */
export type Script =
  | ((response: ServerResponse) => void)
  | object
  | string
  | { readonly status: number; readonly headers?: Record<string, string> }
  | 'silent';

const isFailure = (script: Script): script is { status: number; headers?: Record<string, string> } =>
  typeof script === 'object' && 'status' in script;

/**
 * An OpenAI-compatible server on loopback that answers as a test says: the answers of a real model
 * are not to be had here.
 */
export const startChatProvider = async (answer: (asked: Asked, number: number) => Script) => {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString());
    const parts = body.messages.map(
      ({ content }: { content: string | { type: string; text?: string; image_url?: { url: string } }[] }) =>
        typeof content === 'string' ? [{ type: 'text', text: content }] : content,
    );
    const now: Asked = {
      model: body.model,
      authorization: request.headers.authorization,
      prompt: body.response_format.json_schema.name,
      system: parts[0][0].text,
      text: parts.at(-1)[0].text,
      messages: body.messages,
      images: parts.flat().flatMap((part: { image_url?: { url: string } }) => part.image_url?.url ?? []),
    };
    asked.push(now);
    const script = answer(now, asked.filter(({ prompt }) => prompt === now.prompt).length);
    if (script === 'silent') return;
    if (typeof script === 'function') {
      script(response);
      return;
    }
    if (isFailure(script)) {
      response.writeHead(script.status, script.headers).end('{"error":{"message":"no"}}');
      return;
    }
    const content = typeof script === 'string' ? script : JSON.stringify(script);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ choices: [{ message: { role: 'assistant', content } }] }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
