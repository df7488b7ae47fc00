import { type TSchema, Type } from 'typebox';
import { passthrough } from '../../api/schemas/common.js';
import { GENERATED_SUBTITLE_LANGUAGES } from '../../domain/requests/asset-request.js';
import { jobParameters, type WorkflowName, workflowNames, workflowParams } from './workflows.js';

const { Optional, Array: List, Enum, Object: Fields, String: Text, Unsafe } = Type;

/** Limit for the resources and for the workflows of a directive. */
const MAX_DECLARATIONS = 50;

const referenceId = (of: string) =>
  Text({
    minLength: 1,
    maxLength: 255,
    description: `Name of the ${of} within the directive, 1 to 255 characters. Must be unique in the directive`,
  });
const language = (description: string) =>
  Text({ format: 'bcp-47', description: `${description}, as a BCP 47 code such as \`en\` or \`pt-BR\`` });
const free = (description: string) => Unsafe<Record<string, unknown>>({ type: 'object', 'x-free': true, description });
export const workflowName = () =>
  Enum(workflowNames as unknown as [WorkflowName, ...WorkflowName[]], { description: 'Name of the workflow' });

export const VIAS = ['external', 'required', 'workflow', 'mux_api'] as const;
export const ACTIONS = ['generate_subtitles', 'create_track', 'request_shots'] as const;
const RESOURCE_TYPES = ['video.asset.track', 'video.asset.shots'] as const;

export const actionParams = {
  generate_subtitles: Fields({
    language_code: Optional(
      Enum(GENERATED_SUBTITLE_LANGUAGES, {
        default: 'auto',
        description: 'The language that is spoken. `auto` detects it',
      }),
    ),
    source_audio_language: Optional(language('Language of the audio track to listen to')),
  }),
  create_track: Fields({
    type: Enum(['text', 'audio'], { description: 'The kind of track to add' }),
    url: Text({ format: 'source-url', description: 'URL of the file to download' }),
    language_code: language('Language of the track'),
  }),
  request_shots: Fields({
    image_source: Optional(
      Enum(['create_storyboards', 'use_shot_midpoint'], { description: 'How the image of each shot is chosen' }),
    ),
  }),
} as const;

/** A resource that a directive waits for or creates before its workflows start. */
const Resource = Fields({
  reference_id: referenceId('resource'),
  type: Enum(RESOURCE_TYPES, { description: 'The kind of resource: a track or the shots of the asset' }),
  kind: Optional(
    Enum(['caption', 'audio'], { description: 'The kind of track: subtitles or audio. Required for tracks' }),
  ),
  language: Optional(language('Language of the track. Any language when absent')),
  source: Optional(
    Fields(
      {
        via: Enum(VIAS, {
          description:
            'Who makes the resource: `external`, somebody else within 24 hours; `required`, it must exist already; `workflow`, another workflow; `mux_api`, an action of this API. Defaults to `external` without `source`',
        }),
        binding: Optional(
          Text({ description: 'The `reference_id` of the workflow that makes it. Required for `workflow`' }),
        ),
        action: Optional(Enum(ACTIONS, { description: 'The action that makes it. Required for `mux_api`' })),
        params: Optional(free('Parameters of the action, such as `language_code` of `generate_subtitles`')),
      },
      { description: 'Where the resource comes from' },
    ),
  ),
});

const WorkflowBinding = Fields({
  reference_id: referenceId('workflow'),
  workflow: workflowName(),
  inputs: Optional(
    List(Text(), {
      maxItems: MAX_DECLARATIONS,
      description: 'Resources that must be ready before the workflow starts, by `reference_id`, at most 50',
    }),
  ),
  params: Optional(free('Parameters of the workflow, as for "Create a job" but without `asset_id` and `track_id`')),
});

/** Body of POST /robots/v0/directives. */
export const DirectiveBody = Fields({
  name: Text({ minLength: 1, maxLength: 255, description: 'Name of the directive, for people: 1 to 255 characters' }),
  subject: Fields(
    {
      type: Enum(['video.asset', 'video.live_stream'], {
        description: 'Kind of the resource. Only `video.asset` is supported',
      }),
    },
    { description: 'The kind of resource that the directive runs on' },
  ),
  resources: Optional(
    List(Resource, {
      maxItems: MAX_DECLARATIONS,
      description: 'Tracks and shots that the workflows need, at most 50',
    }),
  ),
  workflows: List(WorkflowBinding, {
    minItems: 1,
    maxItems: MAX_DECLARATIONS,
    description: 'The workflows to run, 1 to 50. Each starts as soon as its inputs are ready',
  }),
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
export const RunBody = Fields({
  asset_id: Text({ minLength: 1, description: 'ID of the asset to run the directive on. It may still be `preparing`' }),
});

export const jobPassthrough = () => Optional(passthrough(' with the job'));

/** Body of POST /robots/v0/jobs/{workflow}, as the documentation shows it. */
export const RobotsJobBody = Fields({
  parameters: Type.Union(workflowNames.map(jobParameters) as TSchema[], {
    description: 'Parameters of the workflow in the path',
  }),
  passthrough: jobPassthrough(),
});

export const bindingParams = (workflow: WorkflowName) => workflowParams[workflow];
