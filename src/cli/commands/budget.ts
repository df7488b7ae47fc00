import { sizeBytes } from '../../config/kinds.js';
import { isKinoraError, KinoraError } from '../../lib/errors.js';
import { isId } from '../../lib/ids.js';
import { type ApiCall, allPages, connectApi } from '../support/api-client.js';
import { timeOf } from '../support/assets.js';
import { apiSettings, type Command, type Flags, json, textOf, usageError, wholeNumberOf } from '../support/command.js';
import { print, printFields, printRows } from '../support/print.js';

interface ApiBudget {
  readonly id: string;
  readonly asset_id?: string;
  readonly period: string;
  readonly bytes?: number;
  readonly seconds?: number;
  readonly action: string;
  readonly delivered_bytes?: number;
  readonly delivered_seconds?: number;
  readonly status: string;
  readonly period_ends_at: string;
}

const BUDGETS = '/video/v1/delivery-budgets';
const A_BUDGET = 'b7RwT2xMc6SbZ8vKq4YnH1mDgJ5eFuA3b7RwT2xM';
const MAX_HOURS = 1_000_000_000;

const amountFlags = {
  '--bytes <size>': 'how much may be delivered, such as 500GB',
  '--hours <number>': 'in place of --bytes: the playing time that may be delivered',
} as const;
const periods = ['day', 'month'] as const;
const actions = ['notify', 'step_down', 'stop'] as const;

/** @throws KinoraError `config_invalid` */
const readAmount = (flags: Flags): { readonly bytes?: number; readonly seconds?: number } => {
  const [size, hours] = [textOf(flags, '--bytes'), wholeNumberOf(flags, '--hours', 1, MAX_HOURS)];
  if (size !== undefined && hours !== undefined) throw usageError('--bytes and --hours cannot be used together.');
  if (hours !== undefined) return { seconds: hours * 3600 };
  if (size === undefined) return {};
  try {
    return { bytes: sizeBytes.parse(size) };
  } catch (error) {
    throw usageError(`--bytes ${(error as Error).message}.`);
  }
};

const UNITS = [
  ['TB', 1e12],
  ['GB', 1e9],
  ['MB', 1e6],
] as const;

const textOfBytes = (bytes: number): string => {
  const [unit, size] = UNITS.find(([, least]) => bytes >= least) ?? (['bytes', 1] as const);
  return `${Math.round((bytes / size) * 10) / 10} ${unit}`;
};
const textOfHours = (seconds: number): string => `${Math.round(seconds / 360) / 10} h`;

const amountOf = ({ bytes, seconds }: Pick<ApiBudget, 'bytes' | 'seconds'>): string =>
  bytes === undefined ? textOfHours(seconds!) : textOfBytes(bytes);
const deliveredOf = (budget: ApiBudget): string => {
  const { delivered_bytes: bytes, delivered_seconds: seconds = 0 } = budget;
  const percent = Math.floor((100 * (bytes ?? seconds)) / (budget.bytes ?? budget.seconds!));
  return `${amountOf(bytes === undefined ? { seconds } : { bytes })} (${percent} %)`;
};

const printBudget = (flags: Flags, budget: ApiBudget): void =>
  printFields(flags, budget, {
    id: budget.id,
    of: budget.asset_id ?? 'everything in the environment',
    amount: `${amountOf(budget)} a ${budget.period}`,
    delivered: deliveredOf(budget),
    status: budget.status,
    'when it is spent': budget.action,
    'next period': timeOf(budget.period_ends_at),
  });

/** @throws KinoraError `not_found`, with advice */
const callOf = async <T>(api: ApiCall, method: 'PATCH' | 'DELETE', id: string, body?: object): Promise<T> => {
  const unknown = new KinoraError('not_found', {
    messages: [`There is no budget with the id ${JSON.stringify(id)}.`, 'kinora budget list shows them.'],
  });
  // An empty one, or `..`, would change the path.
  if (!isId(id)) throw unknown;
  const { data } = await api<T>(method, `${BUDGETS}/${id}`, body).catch((error: unknown) => {
    throw isKinoraError(error, 'not_found') ? unknown : error;
  });
  return data;
};

const create: Command = {
  summary: 'limit how much is delivered in a day or month',
  args: [],
  flags: {
    ...amountFlags,
    '--period <period>': { doc: 'calendar day or month in UTC; month if absent', choices: periods },
    '--action <action>': { doc: 'what follows when it is spent; notify if absent', choices: actions },
    '--asset <id>': 'only this asset; everything in the environment if absent',
    ...json,
  },
  settings: apiSettings,
  examples: [
    'kinora budget create --bytes 2TB --action step_down',
    'kinora budget create --hours 100 --period day --action stop --asset uPSf3Kx9ePh5ZxzXPsdKK01ZFDgrCJKGqAbCdEfG --json',
  ],
  run: async ({ config, flags }) => {
    const amount = readAmount(flags);
    if (amount.bytes === undefined && amount.seconds === undefined)
      throw usageError('Either --bytes or --hours is required.');
    const api = await connectApi(config);
    const { data } = await api<ApiBudget>('POST', BUDGETS, {
      ...amount,
      period: textOf(flags, '--period') ?? 'month',
      action: textOf(flags, '--action'),
      asset_id: textOf(flags, '--asset'),
    });
    printBudget(flags, data);
    return 0;
  },
};

const list: Command = {
  summary: 'list budgets with what was delivered, newest first',
  args: [],
  flags: json,
  settings: apiSettings,
  examples: ['kinora budget list'],
  run: async ({ config, flags }) => {
    const budgets = await allPages<ApiBudget>(await connectApi(config), BUDGETS);
    printRows(flags, budgets, ['ID', 'AMOUNT', 'DELIVERED', 'STATUS', 'ACTION', 'ASSET'], (budget) => [
      budget.id,
      `${amountOf(budget)} a ${budget.period}`,
      deliveredOf(budget),
      budget.status,
      budget.action,
      budget.asset_id ?? 'all',
    ]);
    return 0;
  },
};

const update: Command = {
  summary: 'change a budget; what was delivered in the period stays',
  args: ['<id>'],
  flags: {
    ...amountFlags,
    '--period <period>': { doc: 'calendar day or month in UTC', choices: periods },
    '--action <action>': { doc: 'what follows when it is spent', choices: actions },
    ...json,
  },
  settings: apiSettings,
  examples: [`kinora budget update ${A_BUDGET} --bytes 3TB`],
  run: async ({ config, args, flags }) => {
    const change = { ...readAmount(flags), period: textOf(flags, '--period'), action: textOf(flags, '--action') };
    if (Object.values(change).every((value) => value === undefined))
      throw usageError('Name what to change: --bytes, --hours, --period or --action.');
    printBudget(flags, await callOf<ApiBudget>(await connectApi(config), 'PATCH', args[0]!, change));
    return 0;
  },
};

const remove: Command = {
  summary: 'delete a budget; playback that it limits goes on',
  args: ['<id>'],
  settings: apiSettings,
  examples: [`kinora budget delete ${A_BUDGET}`],
  run: async ({ config, args }) => {
    await callOf(await connectApi(config), 'DELETE', args[0]!);
    print(`${args[0]} is deleted.`);
    return 0;
  },
};

export const budgetCommands: Readonly<Record<string, Command>> = {
  'budget create': create,
  'budget list': list,
  'budget update': update,
  'budget delete': remove,
};
