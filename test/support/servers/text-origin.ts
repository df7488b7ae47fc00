import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { type Origin, startOrigin } from './origin.js';

/** A text, the path of a file, or an answer of its own. */
export type Served =
  | { readonly text: string | Buffer }
  | { readonly path: string }
  | ((response: ServerResponse) => void);

/** Serves what `files` names; other addresses are 404. Entries may be added later. */
export const serveNamed = (files: Readonly<Record<string, Served>>): Promise<Origin> =>
  startOrigin(async (request, response) => {
    const served = files[request.url!.slice(1)];
    if (!served) response.writeHead(404).end();
    else if (typeof served === 'function') served(response);
    else if ('text' in served) response.end(served.text);
    else {
      response.setHeader('content-length', (await stat(served.path)).size);
      createReadStream(served.path).pipe(response);
    }
  });

export interface TimedText {
  readonly startSeconds: number;
  readonly endSeconds: number;
  readonly text: string;
}

const seconds = (time: string): number => {
  const [hours, minutes, rest] = time.split(':').map(Number);
  return hours! * 3600 + minutes! * 60 + rest!;
};

/**
 * The cues of WebVTT as the server writes it; code of its own, so that it can't share a mistake
 * with the product.
 */
export const readCues = (webvtt: string): TimedText[] => {
  const [header, ...blocks] = webvtt.replace(/\n$/, '').split('\n\n');
  if (!/^WEBVTT(\n|$)/.test(header!)) throw new Error(`not WebVTT: ${webvtt.slice(0, 200)}`);
  return blocks.map((block) => {
    const [timing, ...lines] = block.split('\n');
    const [, start, end] = /^(\d\d:\d\d:\d\d\.\d{3}) --> (\d\d:\d\d:\d\d\.\d{3})(?: |$)/.exec(timing!)!;
    return { startSeconds: seconds(start!), endSeconds: seconds(end!), text: lines.join('\n') };
  });
};
