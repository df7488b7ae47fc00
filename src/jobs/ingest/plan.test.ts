import { expect, it } from 'vitest';
import { PendingWork } from '../../lib/pending-work.js';
import type { Plan } from '../../media/plan/plan.js';
import type { PrepareContext } from './context.js';
import { savePlan } from './plan.js';

const save = async (endSeconds: number): Promise<Plan[]> => {
  const saved: Plan[] = [];
  const context = {
    assetId: 'a',
    state: { savePlan: async (_: string, plan: Plan) => saved.push(plan) },
    logger: { info: () => undefined },
    writes: new PendingWork(),
  };
  const video = { access: 'direct', renditions: [], timescale: 1000, boundaries: [0, 4000, endSeconds * 1000] };
  await savePlan(context as unknown as PrepareContext, { durationSeconds: endSeconds, video } as unknown as Plan);
  return saved;
};

it('refuses a segment of more than five minutes and says why', async () => {
  expect(await save(304)).toHaveLength(1);
  const messages = ['The file is damaged: the timestamps of its video leave gaps that are too long.'];
  await expect(save(305)).rejects.toMatchObject({ code: 'invalid_input', messages });
});
