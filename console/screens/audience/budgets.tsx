import type { ReactNode } from 'react';
import { type Budget, budgetsQuery, createBudget, deleteBudget, updateBudget } from '../../api/budgets';
import { usePermission } from '../../api/session';
import { formatBytes, formatDate, formatDuration } from '../../lib/format';
import { SelectField, TextField } from '../../ui/field';
import { FormDialog } from '../../ui/form-dialog';
import { ProgressBar } from '../../ui/status';
import type { Column } from '../../ui/table';
import { ListSection } from '../settings/list-section';

const PERIODS = [
  ['month', 'Each month (UTC)'],
  ['day', 'Each day (UTC)'],
] as const;
const ACTIONS = [
  ['notify', 'Tell webhooks, nothing more'],
  ['step_down', 'Send new viewers at most 480p'],
  ['stop', 'Stop playback'],
] as const;
/** What an amount is entered in, and its size in the unit of the budget. */
const UNITS = {
  gigabytes: { text: 'gigabytes', unit: 'bytes', size: 1e9 },
  terabytes: { text: 'terabytes', unit: 'bytes', size: 1e12 },
  hours: { text: 'hours', unit: 'seconds', size: 3600 },
} as const;
type UnitName = keyof typeof UNITS;
const UNIT_OPTIONS = Object.entries(UNITS).map(([name, { text }]) => [name, text] as const);

const amountIn = ({ bytes, seconds }: Pick<Budget, 'bytes' | 'seconds'>): string =>
  bytes === undefined ? formatDuration(seconds!) : formatBytes(bytes);
const deliveredIn = ({ delivered_bytes: bytes, delivered_seconds: seconds = 0 }: Budget): string =>
  bytes === undefined ? formatDuration(seconds) : formatBytes(bytes);
const percentOf = ({ bytes, seconds, delivered_bytes, delivered_seconds }: Budget): number =>
  (100 * (delivered_bytes ?? delivered_seconds ?? 0)) / (bytes ?? seconds!);

const readAmount = (values: FormData): { readonly [unit in 'bytes' | 'seconds']?: number } => {
  const { unit, size } = UNITS[values.get('unit') as UnitName];
  return { [unit]: Math.round(Number(values.get('amount')) * size) };
};
const readRules = (values: FormData) => ({
  period: values.get('period') as Budget['period'],
  action: values.get('action') as Budget['action'],
  ...readAmount(values),
});

interface BudgetsProps {
  /** Absent for everything that the environment delivers. */
  readonly assetId?: string;
}

/** How much may be delivered, how much was, and what follows. */
export const Budgets = ({ assetId }: BudgetsProps): ReactNode => {
  const mayWrite = usePermission('video:write');
  const query = budgetsQuery(assetId);
  const columns: readonly Column<Budget>[] = [
    {
      key: 'amount',
      title: 'Amount',
      cell: (budget) => `${amountIn(budget)} a ${budget.period}`,
    },
    {
      key: 'delivered',
      title: 'Delivered',
      cell: (budget) => (
        <>
          <ProgressBar percent={Math.min(100, percentOf(budget))} label={`Delivered of ${amountIn(budget)}`} />
          {deliveredIn(budget)} ({Math.floor(percentOf(budget))} %)
        </>
      ),
    },
    {
      key: 'action',
      title: 'When it is spent',
      isWide: true,
      cell: ({ action }) => ACTIONS.find(([name]) => name === action)?.[1],
    },
    {
      key: 'ends',
      title: 'Next period',
      isWide: true,
      cell: ({ period_ends_at: endsAt }) => formatDate(endsAt),
    },
    ...(mayWrite
      ? [{ key: 'change', title: 'Change', isTitleHidden: true, cell: (of: Budget) => <ChangeBudget budget={of} /> }]
      : []),
  ];
  const what = assetId === undefined ? 'everything in this environment' : 'this asset';
  return (
    <ListSection
      title="Budgets"
      query={query}
      columns={columns}
      empty={`A budget limits how much of ${what} is delivered in a day or month.`}
      action={mayWrite && <AddBudget assetId={assetId} />}
      {...(mayWrite && {
        remove: {
          what: 'budget',
          consequence: 'Playback that it limits goes on.',
          run: deleteBudget,
        },
      })}
    />
  );
};

const AddBudget = ({ assetId }: { readonly assetId: string | undefined }): ReactNode => (
  <FormDialog
    title="Add budget"
    verb="Add"
    send={(values) => createBudget({ asset_id: assetId, ...readRules(values) })}
    refresh={[budgetsQuery(assetId).queryKey]}
  >
    <BudgetFields />
  </FormDialog>
);

const ChangeBudget = ({ budget }: { readonly budget: Budget }): ReactNode => (
  <FormDialog
    title="Change budget"
    button={{ children: 'Change' }}
    verb="Change"
    send={(values) => updateBudget(budget.id, readRules(values))}
    refresh={[budgetsQuery(budget.asset_id).queryKey]}
  >
    <BudgetFields budget={budget} />
  </FormDialog>
);

const BudgetFields = ({ budget }: { readonly budget?: Budget }): ReactNode => {
  const unit: UnitName = budget?.seconds === undefined ? 'gigabytes' : 'hours';
  const amount = budget && (budget.bytes ?? budget.seconds)! / UNITS[unit].size;
  return (
    <>
      <TextField name="amount" label="Amount" type="number" min="0" step="any" required defaultValue={amount} />
      <SelectField name="unit" label="Unit" options={UNIT_OPTIONS} defaultValue={unit} />
      <SelectField name="period" label="Period" options={PERIODS} defaultValue={budget?.period ?? 'month'} />
      <SelectField name="action" label="When it is spent" options={ACTIONS} defaultValue={budget?.action ?? 'notify'} />
    </>
  );
};
