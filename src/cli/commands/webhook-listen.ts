import { setTimeout as delay } from 'node:timers/promises';
import { signWebhook } from '../../domain/webhooks/sign-webhook.js';
import { backoffMs } from '../../lib/backoff.js';
import { systemClock } from '../../lib/clock.js';
import { newSigningSecret } from '../../lib/ids.js';
import { connectApi } from '../support/api-client.js';
import { apiSettings, type Command, json, textOf, usageError } from '../support/command.js';
import { type ApiEvent, followEvents } from '../support/follow-events.js';
import { print, printError, printJsonLine } from '../support/print.js';

/** Longer than the server waits, because a developer may stop in a debugger. */
const LIMIT_MS = 30_000;
/** For a receiver that responds with a failure. One that can't be reached is tried until it can. */
const MAX_REJECTIONS = 5;
const PAUSE = { baseMs: 500, maxMs: 5_000 };
const SECRET = /^[\x21-\x7e]{8,256}$/;

interface Attempt {
  /** Undefined when there was no response. */
  readonly status: number | undefined;
  readonly outcome: string;
  readonly durationMs: number;
}

const send = async (url: string, secret: string, body: string): Promise<Attempt> => {
  const sentMs = systemClock.now().getTime();
  const since = (): number => systemClock.now().getTime() - sentMs;
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'mux-signature': signWebhook(secret, Math.floor(sentMs / 1000), body),
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(LIMIT_MS),
    });
    await response.arrayBuffer();
    return { status: response.status, outcome: `status ${response.status}`, durationMs: since() };
  } catch (error) {
    const { name, cause } = error as Error & { cause?: { code?: string; message?: string } };
    const reason = cause?.code ?? cause?.message ?? 'no connection';
    const outcome = name === 'TimeoutError' ? `no answer within ${LIMIT_MS / 1000} s` : reason;
    return { status: undefined, outcome, durationMs: since() };
  }
};

const isAccepted = ({ status }: Attempt): boolean => status !== undefined && status >= 200 && status < 300;

interface Forwarding {
  readonly url: string;
  readonly secret: string;
  readonly report: (event: ApiEvent, number: number, attempt: Attempt, end: string) => void;
}

/** Every attempt is reported, so that an event that arrives twice is no surprise. */
const forward = async (event: ApiEvent, { url, secret, report }: Forwarding): Promise<void> => {
  const body = JSON.stringify(event);
  for (let number = 1, rejections = 0; ; number++) {
    const attempt = await send(url, secret, body);
    if (isAccepted(attempt)) {
      report(event, number, attempt, 'delivered');
      return;
    }
    if (attempt.status !== undefined) rejections += 1;
    const isOver = rejections === MAX_REJECTIONS;
    report(event, number, attempt, isOver ? 'given up' : 'trying again');
    if (isOver) return;
    await delay(backoffMs(number, PAUSE));
  }
};

export const listen: Command = {
  summary: 'deliver the events of the server to a local URL while you develop',
  args: [],
  flags: {
    '--forward-to <url>': 'URL of your receiver; required',
    '--events <list>': 'comma-separated types of events, such as video.asset.ready; all if absent',
    '--secret <text>': 'signing secret; a new one is printed if absent',
    ...json,
  },
  settings: apiSettings,
  examples: [
    'kinora webhook listen --forward-to http://localhost:3000/webhooks',
    'kinora webhook listen --forward-to http://localhost:3000/webhooks --events video.asset.ready --json',
  ],
  run: async ({ config, flags }) => {
    const url = textOf(flags, '--forward-to') ?? '';
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
      throw usageError('--forward-to must be the http or https URL of your receiver.');
    }
    const secret = textOf(flags, '--secret') ?? newSigningSecret();
    if (!SECRET.test(secret)) throw usageError('--secret must have 8 to 256 printable characters without spaces.');
    const types = textOf(flags, '--events')?.split(',');
    const api = await connectApi(config);
    const report: Forwarding['report'] = (event, number, { outcome, durationMs }, end) => {
      const time = systemClock.now().toISOString();
      const { id, type, object } = event;
      if (flags['--json']) {
        printJsonLine(
          JSON.stringify({ time, event: id, type, object: object.id, attempt: number, outcome, result: end }),
        );
      } else {
        const attempt = number > 1 ? `, attempt ${number}` : '';
        print(`${time}  ${type}  ${object.id}  ${outcome} after ${durationMs} ms${attempt}: ${end}`);
      }
    };
    const events = followEvents(api, {
      onReady: () => printError(`Signing secret: ${secret}\nEvents go to ${url}. Press Ctrl-C to stop.`),
      onWaiting: () => printError('The server does not answer; waiting for it.'),
    });
    for await (const event of events) {
      if (!types || types.includes(event.type)) await forward(event, { url, secret, report });
    }
    return 0;
  },
};
