import { beforeAll, expect, it } from 'vitest';
import { wireFormat } from '#kinora/api/wire-format.js';
import { updateDeliveryBudget } from '#kinora/db/tables/playback/delivery-budget.js';
import { insertEnvironment } from '#kinora/db/tables/server/environment.js';
import { changeDeliveryBudget, createDeliveryBudget } from '#kinora/domain/usage/delivery-budgets.js';
import { reportBudgets } from '#kinora/domain/usage/report-budgets.js';
import { systemClock } from '#kinora/lib/clock.js';
import { describeOnBothEngines } from './engines.js';

describeOnBothEngines('budgets that are changed and reported at the same time', (database) => {
  const environmentId = 'abc123';
  beforeAll(() => insertEnvironment(database().queryable, { id: environmentId, name: 'budgets', type: 'production' }));

  it('never wait for each other', async () => {
    const context = { database: database(), clock: systemClock, wire: wireFormat, onBudgetChanged: () => undefined };
    const { queryable: db } = database();
    const rules = { period: 'month', unit: 'bytes', amount: 1000, action: 'notify' } as const;
    const { id } = await createDeliveryBudget(context, environmentId, { assetId: null, ...rules });
    for (let round = 0; round < 5; round++) {
      await updateDeliveryBudget(db, id, { delivered_bytes: 900, reported: 0 });
      const work = Array.from({ length: 4 }, () => [
        changeDeliveryBudget(context, environmentId, id, { amount: 1000 }),
        changeDeliveryBudget(context, environmentId, id, { period: 'month', amount: 1000 }),
        reportBudgets(context, systemClock.now()),
      ]).flat();
      const failures = (await Promise.allSettled<unknown>(work)).filter(({ status }) => status === 'rejected');
      expect(failures).toEqual([]);
    }
    const events = await db.selectFrom('event').select('type').execute();
    expect(events.map(({ type }) => type)).toEqual(Array(5).fill('video.delivery_budget.warning'));
  });
});
