import { Type } from 'typebox';
import { DeliveryBudgetResponse, PublicRestrictionResponse } from '../responses/delivery-budget.js';
import {
  DrmConfigurationResponse,
  NewSigningKeyResponse,
  PlaybackRestrictionResponse,
  SigningKeyResponse,
} from '../responses/playback-access.js';
import {
  CreateDeliveryBudgetBody,
  PublicRestrictionBody,
  UpdateDeliveryBudgetBody,
} from '../schemas/delivery-budget.js';
import { CreatePlaybackRestrictionBody, ReferrerRules, UserAgentRules } from '../schemas/playback-restriction.js';
import { list, listWithTotal, one } from '../schemas/response.js';
import { type Description, paging } from './description.js';

const restrictions = { tag: 'Playback restrictions' } as const;
const budgets = { tag: 'Delivery budgets' } as const;
const drm = { tag: 'DRM configurations' } as const;
const keys = { tag: 'Signing keys' } as const;
const oldKeys = { ...keys, deprecated: true } as const;

const createKey = {
  summary: 'Create a signing key',
  details: '`private_key` is returned only once; the server stores the public half.',
  body: 'none',
  response: one(NewSigningKeyResponse),
} as const;
const listKeys = {
  summary: 'List signing keys',
  details: 'Oldest first.',
  query: paging(),
  response: list(SigningKeyResponse),
} as const;
const getKey = {
  summary: 'Retrieve a signing key',
  details: 'Returns the key without its private half.',
  response: one(SigningKeyResponse),
} as const;
const deleteKey = {
  summary: 'Delete a signing key',
  details: 'Tokens that it signed become invalid within a minute.',
} as const;

export const playbackOperations = {
  createPlaybackRestriction: {
    ...restrictions,
    summary: 'Create a playback restriction',
    details: 'Applies to playback tokens with its ID as `playback_restriction_id`.',
    body: CreatePlaybackRestrictionBody,
    example: { referrer: { allowed_domains: ['example.com', '*.example.com'], allow_no_referrer: false } },
    response: one(PlaybackRestrictionResponse),
  },
  listPlaybackRestrictions: {
    ...restrictions,
    summary: 'List playback restrictions',
    details: 'Newest first.',
    query: paging(),
    response: listWithTotal(PlaybackRestrictionResponse),
  },
  getPlaybackRestriction: {
    ...restrictions,
    summary: 'Retrieve a playback restriction',
    details: 'Returns the restriction with all of its rules.',
    response: one(PlaybackRestrictionResponse),
  },
  deletePlaybackRestriction: {
    ...restrictions,
    summary: 'Delete a playback restriction',
    details: 'Tokens that name it become invalid. Refused while it applies to public playback IDs.',
  },
  updatePlaybackRestrictionReferrer: {
    ...restrictions,
    summary: 'Update the referrer rules',
    details: 'Replaces the rules for the site that a request comes from. They apply to tokens that exist already.',
    body: ReferrerRules,
    example: { allowed_domains: ['*'], allow_no_referrer: true },
    response: one(PlaybackRestrictionResponse),
  },
  updatePlaybackRestrictionUserAgent: {
    ...restrictions,
    summary: 'Update the user agent rules',
    details: 'Replaces the rules for the program that sends a request. They apply to tokens that exist already.',
    body: UserAgentRules,
    example: { allow_no_user_agent: false, allow_high_risk_user_agent: false },
    response: one(PlaybackRestrictionResponse),
  },
  getPublicPlaybackRestriction: {
    ...restrictions,
    summary: 'Retrieve the restriction of public playback IDs',
    details: 'Returns the ID of the restriction, or `null` if everyone may play them.',
    response: one(PublicRestrictionResponse),
  },
  updatePublicPlaybackRestriction: {
    ...restrictions,
    summary: 'Update the restriction of public playback IDs',
    details:
      'Applies to all public playback IDs of the environment within a minute. What caches in front of the server have stays playable there.',
    body: PublicRestrictionBody,
    example: { playback_restriction_id: 'n8VtQ1xLc5RbZ7wKs3YpH9mDfJ4eGuA2n8VtQ1xL' },
    response: one(PublicRestrictionResponse),
  },
  createDeliveryBudget: {
    ...budgets,
    summary: 'Create a delivery budget',
    details:
      'It begins with what was delivered in the current period. Events report 80 % and 100 % of the amount, once in each period.',
    body: CreateDeliveryBudgetBody,
    example: { period: 'month', bytes: 500_000_000_000, action: 'step_down' },
    response: one(DeliveryBudgetResponse),
  },
  listDeliveryBudgets: {
    ...budgets,
    summary: 'List delivery budgets',
    details: 'Newest first.',
    query: {
      ...paging(),
      asset_id: Type.String({
        description: 'Only budgets of this asset; `none` for those of the environment itself',
      }),
    },
    response: listWithTotal(DeliveryBudgetResponse),
  },
  getDeliveryBudget: {
    ...budgets,
    summary: 'Retrieve a delivery budget',
    details: 'Returns the budget with what was delivered in the current period.',
    response: one(DeliveryBudgetResponse),
  },
  updateDeliveryBudget: {
    ...budgets,
    summary: 'Update a delivery budget',
    details:
      'Changes only the fields that are sent. What was delivered in the period stays; playback goes on within seconds if it is less than the new amount.',
    body: UpdateDeliveryBudgetBody,
    example: { bytes: 1_000_000_000_000 },
    response: one(DeliveryBudgetResponse),
  },
  deleteDeliveryBudget: {
    ...budgets,
    summary: 'Delete a delivery budget',
    details: 'Playback that it limited goes on within seconds.',
  },
  createSigningKey: { ...keys, ...createKey },
  listSigningKeys: { ...keys, ...listKeys },
  getSigningKey: { ...keys, ...getKey },
  deleteSigningKey: { ...keys, ...deleteKey },
  createVideoSigningKey: { ...oldKeys, ...createKey },
  listVideoSigningKeys: { ...oldKeys, ...listKeys },
  getVideoSigningKey: { ...oldKeys, ...getKey },
  deleteVideoSigningKey: { ...oldKeys, ...deleteKey },
  listDrmConfigurations: {
    ...drm,
    summary: 'List DRM configurations',
    details: 'Newest first. A configuration has only an ID, for `advanced_playback_policies` and new playback IDs.',
    query: paging(),
    response: list(DrmConfigurationResponse),
  },
  getDrmConfiguration: {
    ...drm,
    summary: 'Retrieve a DRM configuration',
    details: 'Returns the configuration, which has only an ID.',
    response: one(DrmConfigurationResponse),
  },
} as const satisfies Record<string, Description>;
