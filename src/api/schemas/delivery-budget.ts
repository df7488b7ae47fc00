import { type Static, Type } from 'typebox';

const { Optional, Object: Fields, Enum, Integer, String: Text } = Type;

const amount = (description: string) =>
  Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: `${description}. Send this or the other unit` });

export const PERIOD = 'Calendar day or month (UTC) that the amount is for';
export const ACTION =
  'What follows when the amount is delivered, until the period ends: `notify` only records an event; `step_down` lists no rendition above 480p for viewers who begin; `stop` answers playback with 403';

const rules = {
  bytes: Optional(amount('Most bytes of video and audio that may be delivered in a period')),
  seconds: Optional(amount('Most seconds that may be delivered in a period, as in the delivery usage')),
};
const period = () => Enum(['day', 'month'], { description: PERIOD });
const action = (options = {}) => Enum(['notify', 'step_down', 'stop'], { ...options, description: ACTION });

/** Body of POST /video/v1/delivery-budgets. */
export const CreateDeliveryBudgetBody = Fields({
  asset_id: Optional(
    Text({ description: 'ID of the asset that the budget is for. If absent, everything the environment delivers' }),
  ),
  period: period(),
  ...rules,
  action: Optional(action({ default: 'notify' })),
});
export type CreateDeliveryBudgetBody = Static<typeof CreateDeliveryBudgetBody>;

/** Body of PATCH /video/v1/delivery-budgets/{id}. */
export const UpdateDeliveryBudgetBody = Fields({
  period: Optional(period()),
  ...rules,
  action: Optional(action()),
});

/** Body of PUT /video/v1/public-playback-restriction. */
export const PublicRestrictionBody = Fields({
  playback_restriction_id: Type.Union([Text(), Type.Null()], {
    description:
      'ID of the playback restriction that applies to all public playback IDs of the environment. `null`: everyone may play them',
  }),
});
