import { checkPlan } from '../../early/check-plan.js';
import type { Plan } from '../../media/plan/plan.js';
import type { IngestContext } from './context.js';

/** @throws KinoraError as `checkPlan` */
export const savePlan = async ({ assetId, state, logger }: IngestContext, plan: Plan): Promise<void> => {
  checkPlan(plan);
  await state.savePlan(assetId, plan);
  const { access, renditions, copyDecision: copy_decision } = plan.video ?? {};
  const names = renditions?.map(({ name, kind }) => `${name} ${kind}`);
  logger.info({ access, renditions: names, copy_decision }, 'asset planned');
};
