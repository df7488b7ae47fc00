import { isKinoraError, KinoraError } from '../../lib/errors.js';
import { allPages, connectApi } from '../support/api-client.js';
import { apiSettings, type Command, json } from '../support/command.js';
import { print, printJson, printRows, printTable } from '../support/print.js';
import { listen } from './webhook-listen.js';

interface ApiWebhook {
  readonly id: string;
  readonly address: string;
  readonly enabled: boolean;
  readonly created_at: string;
  readonly signing_secret?: string;
}

interface ApiAttempt {
  readonly created_at: string;
  readonly duration_ms: number;
  readonly response_status_code?: number;
  readonly response_body?: string;
  readonly error?: string;
}

interface ApiDelivery {
  readonly id: string;
  readonly state: string;
  readonly created_at: string;
  readonly next_attempt_at?: string;
  readonly event: { readonly type: string; readonly object: { readonly id: string } };
  readonly attempts: readonly ApiAttempt[];
}

const WEBHOOKS = '/system/v1/webhooks';
/** The server's largest page. */
const PAGE = 100;

/** Only for valid IDs: an empty one, or `..`, would change the path. */
const webhookPath = (id: string): string => {
  if (/^[a-z0-9]{6}$/.test(id)) return `${WEBHOOKS}/${id}`;
  throw new KinoraError('not_found', { messages: [`There is no webhook with the id ${JSON.stringify(id)}.`] });
};

const outcomeOf = ({ response_status_code: status, error }: ApiAttempt): string =>
  status === undefined ? (error ?? '-') : `status ${status}`;

const create: Command = {
  summary: 'create a webhook and print its ID and, once, its signing secret',
  args: ['<url>'],
  flags: json,
  settings: apiSettings,
  examples: ['kinora webhook create https://example.org/hooks/kinora'],
  run: async ({ config, args, flags }) => {
    const api = await connectApi(config);
    const { data } = await api<ApiWebhook>('POST', WEBHOOKS, { address: args[0] }).catch((error: unknown) => {
      if (!isKinoraError(error) || !error.messages.includes('address is not allowed')) throw error;
      const advice = 'To send events to a private address, start the server with --allow-private-sources.';
      throw new KinoraError(error.code, { messages: [...error.messages, advice] });
    });
    if (flags['--json']) printJson(data);
    else {
      printTable([
        ['ID', 'SIGNING SECRET'],
        [data.id, data.signing_secret!],
      ]);
    }
    return 0;
  },
};

const list: Command = {
  summary: 'list webhooks, newest first',
  args: [],
  flags: json,
  settings: apiSettings,
  examples: ['kinora webhook list'],
  run: async ({ config, flags }) => {
    const api = await connectApi(config);
    const webhooks = await allPages<ApiWebhook>(api, WEBHOOKS);
    printRows(flags, webhooks, ['ID', 'ENABLED', 'CREATED', 'ADDRESS'], ({ id, enabled, created_at, address }) => [
      id,
      enabled ? 'yes' : 'no',
      created_at,
      address,
    ]);
    return 0;
  },
};

const test: Command = {
  summary: 'send a signed test event to a webhook and print the response',
  args: ['<id>'],
  flags: json,
  settings: apiSettings,
  examples: ['kinora webhook test q7m2x9'],
  run: async ({ config, args, flags }) => {
    const api = await connectApi(config);
    const { data } = await api<ApiDelivery>('POST', `${webhookPath(args[0]!)}/test`);
    const attempt = data.attempts[0]!;
    const outcome = `${outcomeOf(attempt)} after ${attempt.duration_ms} ms`;
    if (data.state !== 'succeeded') {
      const body = attempt.response_body ? `: ${attempt.response_body}` : '';
      throw new KinoraError('invalid_parameters', {
        messages: [`The receiver did not accept the event: ${outcome}${body}`],
      });
    }
    if (flags['--json']) {
      printJson(data);
      return 0;
    }
    print(outcome);
    if (attempt.response_body) print(attempt.response_body);
    return 0;
  },
};

const deliveries: Command = {
  summary: 'list the latest deliveries of a webhook, newest first',
  args: ['<id>'],
  flags: json,
  settings: apiSettings,
  examples: ['kinora webhook deliveries q7m2x9'],
  run: async ({ config, args, flags }) => {
    const api = await connectApi(config);
    const { data } = await api<ApiDelivery[]>('GET', `${webhookPath(args[0]!)}/deliveries?limit=${PAGE}`);
    printRows(
      flags,
      data,
      ['ID', 'CREATED', 'STATE', 'ATTEMPTS', 'LAST', 'NEXT', 'EVENT', 'OBJECT'],
      ({ id, created_at, state, attempts, next_attempt_at: next, event: { type, object } }) => {
        const last = attempts.at(-1);
        return [
          id,
          created_at,
          state,
          `${attempts.length}`,
          last ? outcomeOf(last) : '-',
          next ?? '-',
          type,
          object.id,
        ];
      },
    );
    return 0;
  },
};

const remove: Command = {
  summary: 'delete a webhook',
  args: ['<id>'],
  settings: apiSettings,
  examples: ['kinora webhook delete q7m2x9'],
  run: async ({ config, args }) => {
    const api = await connectApi(config);
    await api('DELETE', webhookPath(args[0]!));
    print(`${args[0]} is deleted.`);
    return 0;
  },
};

export const webhookCommands: Readonly<Record<string, Command>> = {
  'webhook create': create,
  'webhook list': list,
  'webhook listen': listen,
  'webhook test': test,
  'webhook deliveries': deliveries,
  'webhook delete': remove,
};
