import { type TSchema, Type } from 'typebox';
import { GENERATED_SUBTITLE_LANGUAGES } from './input.js';
import { jobParameters, type WorkflowName, workflowNames, workflowParams } from './workflows.js';

const { Optional, Array: List, Enum, Object: Fields, String: Text, Unsafe } = Type;

/** Limit for the resources and for the workflows of a directive. */
const MAX_DECLARATIONS = 50;

const name = () => Text({ minLength: 1, maxLength: 255 });
const referenceId = () => Text({ minLength: 1, maxLength: 255 });

export const VIAS = ['external', 'required', 'workflow', 'mux_api'] as const;
export const ACTIONS = ['generate_subtitles', 'create_track', 'request_shots'] as const;
const RESOURCE_TYPES = ['video.asset.track', 'video.asset.shots'] as const;

export const actionParams = {
  generate_subtitles: Fields({
    language_code: Optional(Enum(GENERATED_SUBTITLE_LANGUAGES, { default: 'auto' })),
    source_audio_language: Optional(Text({ format: 'bcp-47' })),
  }),
  create_track: Fields({
    type: Enum(['text', 'audio']),
    url: Text({ format: 'source-url' }),
    language_code: Text({ format: 'bcp-47' }),
  }),
  request_shots: Fields({ image_source: Optional(Enum(['create_storyboards', 'use_shot_midpoint'])) }),
} as const;

/** A resource that a directive waits for or creates before its workflows start. */
const Resource = Fields({
  reference_id: referenceId(),
  type: Enum(RESOURCE_TYPES),
  kind: Optional(Enum(['caption', 'audio'], { description: 'Required for tracks' })),
  language: Optional(Text({ format: 'bcp-47' })),
  source: Optional(
    Fields({
      via: Enum(VIAS),
      binding: Optional(Text({ description: 'With `workflow`: `reference_id` of the workflow that creates it' })),
      action: Optional(Enum(ACTIONS, { description: 'With `mux_api`' })),
      params: Optional(Unsafe<Record<string, unknown>>({ type: 'object', 'x-free': true })),
    }),
  ),
});

const WorkflowBinding = Fields({
  reference_id: referenceId(),
  workflow: Enum(workflowNames as unknown as [WorkflowName, ...WorkflowName[]]),
  inputs: Optional(
    List(Text(), { maxItems: MAX_DECLARATIONS, description: 'Resources that must be ready, by `reference_id`' }),
  ),
  params: Optional(Unsafe<Record<string, unknown>>({ type: 'object', 'x-free': true })),
});

/** Body of POST /robots/v0/directives. */
export const DirectiveBody = Fields({
  name: name(),
  subject: Fields({ type: Enum(['video.asset', 'video.live_stream']) }),
  resources: Optional(List(Resource, { maxItems: MAX_DECLARATIONS })),
  workflows: List(WorkflowBinding, { minItems: 1, maxItems: MAX_DECLARATIONS }),
});

export interface TrackResource {
  readonly reference_id: string;
  readonly type: 'video.asset.track';
  readonly kind: 'caption' | 'audio';
  readonly language?: string;
  readonly source?: ResourceSource;
}

export interface ShotsResource {
  readonly reference_id: string;
  readonly type: 'video.asset.shots';
  readonly source?: ResourceSource;
}

export type ResourceSource =
  | { readonly via: 'external' | 'required' }
  | { readonly via: 'workflow'; readonly binding: string }
  | {
      readonly via: 'mux_api';
      readonly action: 'generate_subtitles';
      readonly params?: { readonly language_code?: string; readonly source_audio_language?: string };
    }
  | {
      readonly via: 'mux_api';
      readonly action: 'create_track';
      readonly params: { readonly type: 'text' | 'audio'; readonly url: string; readonly language_code: string };
    }
  | { readonly via: 'mux_api'; readonly action: 'request_shots'; readonly params?: object };

export type DirectiveResource = TrackResource | ShotsResource;

export interface Binding {
  readonly reference_id: string;
  readonly workflow: WorkflowName;
  readonly inputs?: readonly string[];
  readonly params?: Readonly<Record<string, unknown>>;
}

/** A valid directive. */
export interface DirectiveRequest {
  readonly name: string;
  readonly resources: readonly DirectiveResource[];
  readonly workflows: readonly Binding[];
}

/** Body of POST …/runs. */
export const RunBody = Fields({ asset_id: Text({ minLength: 1 }) });

export const jobPassthrough = () => Optional(Text({ maxLength: 255 }));

/** Body of POST /robots/v0/jobs/{workflow}, as the documentation shows it. */
export const RobotsJobBody = Fields({
  parameters: Type.Union(workflowNames.map(jobParameters) as TSchema[], {
    description: 'Parameters of the workflow in the path',
  }),
  passthrough: jobPassthrough(),
});

export const bindingParams = (workflow: WorkflowName) => workflowParams[workflow];
