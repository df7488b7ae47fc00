import {
  DrmConfigurationResponse,
  NewSigningKeyResponse,
  PlaybackRestrictionResponse,
  SigningKeyResponse,
} from '../responses/playback-access.js';
import { CreatePlaybackRestrictionBody, ReferrerRules, UserAgentRules } from '../schemas/playback-restriction.js';
import { list, listWithTotal, one } from '../schemas/response.js';
import { type Description, paging } from './description.js';

const restrictions = { tag: 'Playback restrictions' } as const;
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
    details: 'Tokens that name it become invalid.',
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
