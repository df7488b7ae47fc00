import { createReadStream } from 'node:fs';
import { createRequire } from 'node:module';
import { type Origin, startOrigin } from '../servers/origin.js';

const { resolve } = createRequire(import.meta.url);

/**
 * Serves a page and the scripts of installed packages that it loads, by path; the page at all other
 * paths.
 */
export const servePage = (page: string, scripts: Readonly<Record<string, string>>): Promise<Origin> =>
  startOrigin((request, response) => {
    const script = scripts[request.url ?? ''];
    if (script === undefined) response.setHeader('content-type', 'text/html').end(page);
    else createReadStream(resolve(script)).pipe(response.setHeader('content-type', 'text/javascript'));
  });
