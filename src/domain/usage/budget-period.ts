/** A calendar day or month in UTC. */
export type BudgetPeriod = 'day' | 'month';

/** The start of the period that contains `time`. */
export const periodStart = (period: BudgetPeriod, time: Date): Date =>
  new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth(), period === 'day' ? time.getUTCDate() : 1));

/** The end, exclusive, of the period that contains `time`. */
export const periodEnd = (period: BudgetPeriod, time: Date): Date => {
  const [year, month] = [time.getUTCFullYear(), time.getUTCMonth()];
  return new Date(period === 'day' ? Date.UTC(year, month, time.getUTCDate() + 1) : Date.UTC(year, month + 1, 1));
};
