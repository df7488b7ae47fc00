import { createHash } from 'node:crypto';
import { createLinkedAbort } from '../lib/linked-abort.js';
import { HttpClient, type HttpLimits } from './http-client.js';

/** A file that another server of the installation sends. */
export interface NodeFile {
  readonly status: number;
  /** Present with status 200, and as the server stored it. */
  readonly bytes?: Uint8Array;
}

/** After this time without a response, the server must show that it is alive, … */
const SUSPECT_MS = 2000;
/** … within this time. */
const ALIVE_MS = 5000;
/**
 * A response begins later than a segment takes on a busy server. Its body, which the server has in
 * full before, must not stall for long.
 */
const LIMITS = { headersMs: 15_000, stallMs: 5000 } satisfies HttpLimits;
/** Many times the longest segment. */
const MAX_FILE_BYTES = 2 ** 30;

/** Asks other servers of the installation for files of their caches. Keeps connections open. */
export class NodeClient {
  private readonly files: HttpClient;
  private readonly health = new HttpClient({ peer: 'server', limits: { totalMs: ALIVE_MS } });

  constructor(changes: HttpLimits = {}) {
    const limits = { ...LIMITS, ...changes };
    this.files = new HttpClient({
      peer: 'server',
      limits,
      messages: { headersMs: `no answer within ${limits.headersMs} ms` },
      keepAlive: { keepAlive: true },
    });
  }

  /**
   * The response must also begin within a few seconds if the server answers nothing else either:
   * one that was suspended keeps its connections.
   * @throws Error when there is no response, or an incomplete one
   */
  async getFile(
    url: string,
    request: { readonly headers: Readonly<Record<string, string>>; readonly body: string },
    signal: AbortSignal,
  ): Promise<NodeFile> {
    using attempt = createLinkedAbort(signal);
    let unresponsive: Error | undefined;
    const suspect = setTimeout(async () => {
      if (await this.isAlive(url)) return;
      unresponsive = new Error('the server answers nothing');
      attempt.abort(unresponsive);
    }, SUSPECT_MS);
    try {
      const response = await this.files.send({
        method: 'POST',
        url: new URL(url),
        ...request,
        signal: attempt.signal,
      });
      clearTimeout(suspect);
      if (response.status !== 200) {
        response.close();
        return { status: response.status };
      }
      const bytes = await response.bytes(MAX_FILE_BYTES, () => new Error('the file is too large'));
      // The validator of a cached file is a digest of its content.
      const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
      if (response.header('etag') !== `"${digest}"`) throw new Error('the file differs from its digest');
      return { status: 200, bytes };
    } catch (error) {
      throw unresponsive ?? error;
    } finally {
      clearTimeout(suspect);
    }
  }

  stop(): void {
    this.files.close();
  }

  private async isAlive(url: string): Promise<boolean> {
    try {
      const response = await this.health.send({ method: 'GET', url: new URL('/healthz', url), headers: {} });
      response.close();
      return response.status >= 200 && response.status < 300;
    } catch {
      return false;
    }
  }
}
