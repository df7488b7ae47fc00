import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox';
import { MAX_ENTRIES } from './common.js';

/** Parameters of the workflows, by name. Directives take the same parameters without the asset and the track. */

const { Optional, Array: List, Boolean: Flag, Enum, Integer, Number: Numeric, Object: Fields, String: Text } = Type;

const language = (description: string) => Optional(Text({ format: 'bcp-47', description: `BCP 47: ${description}` }));
const words = () => Optional(Integer({ minimum: 1, maximum: 1000, description: 'Words' }));
/** Hints for the model. Only `scope` is enforced. */
const steering = () =>
  Optional(
    Type.Unsafe<{ scope?: { start_time?: number; end_time?: number }; [hint: string]: unknown }>({
      type: 'object',
      'x-free': true,
      description: 'Hints for the model; `scope` limits the job to a time range in seconds',
    }),
  );
const overrides = () =>
  Optional(
    Type.Unsafe<Record<string, unknown>>({ type: 'object', 'x-free': true, description: 'Deprecated; ignored' }),
  );
const readTrack = () => language('of the text track to read');
const outputLanguage = () => language('of the result');
const uploadToMux = () => Optional(Flag({ default: true, description: 'Whether the result becomes a track' }));
const score = () => Optional(Numeric({ minimum: 0, maximum: 1 }));
const milliseconds = (minimum = 0) => Integer({ minimum, description: 'Milliseconds' });
const terms = (format?: string) =>
  List(Text({ minLength: 1, maxLength: 200, ...(format && { format }) }), { maxItems: MAX_ENTRIES });

const Replacement = { find: Text({ minLength: 1, maxLength: 500 }), replace: Text({ maxLength: 500 }) };

export const workflowParams = {
  'ask-questions': Fields({
    questions: List(
      Fields({
        question: Text({ minLength: 1, maxLength: 600 }),
        answer_options: Optional(List(Text({ minLength: 1, maxLength: 150 }), { minItems: 1, maxItems: 50 })),
        free_form_reply: Optional(Flag()),
      }),
      { minItems: 1, maxItems: 50 },
    ),
    language_code: readTrack(),
    max_free_form_answer_length: Optional(Integer({ minimum: 1, maximum: 1000 })),
    output_steering: steering(),
  }),
  'edit-captions': Fields({
    replacements: Optional(
      List(Fields({ ...Replacement, case_sensitive: Optional(Flag({ default: false })) }), { maxItems: MAX_ENTRIES }),
    ),
    speaker_replacements: Optional(List(Fields(Replacement), { maxItems: MAX_ENTRIES })),
    auto_censor_profanity: Optional(
      Fields({
        mode: Optional(Enum(['blank', 'remove', 'mask'], { default: 'blank' })),
        always_censor: Optional(terms()),
        never_censor: Optional(terms()),
        detection_method: Optional(Enum(['llm'])),
      }),
    ),
    upload_to_mux: uploadToMux(),
    delete_original_track: Optional(Flag({ default: true })),
    track_name_suffix: Optional(Text({ maxLength: 100, default: 'edited' })),
  }),
  'find-best-thumbnails': Fields({
    max_thumbnails: Optional(Integer({ minimum: 1, maximum: 5, default: 1 })),
    update_asset_thumbnail: Optional(Flag({ description: "Writes the best time as the asset's `thumbnail_time`" })),
    output_steering: steering(),
  }),
  'find-key-moments': Fields({
    max_moments: Optional(Integer({ minimum: 1, maximum: 100 })),
    target_duration_ms: Optional(Fields({ min: milliseconds(), max: milliseconds() })),
    use_shots: Optional(Flag({ default: false })),
    output_steering: steering(),
  }),
  'find-scenes': Fields({
    language_code: readTrack(),
    min_scenes: Optional(Integer({ minimum: 1, maximum: 500 })),
    min_scene_duration_ms: Optional(milliseconds(1)),
    output_steering: steering(),
  }),
  'generate-chapters': Fields({
    language_code: readTrack(),
    output_language_code: outputLanguage(),
    update_asset_chapters: Optional(Flag({ description: 'Replaces the chapters of the asset' })),
    output_steering: steering(),
    prompt_overrides: overrides(),
  }),
  'generate-engagement-insights': Fields({}),
  'generate-premium-captions': Fields({
    language_code: language('of the speech; detected when absent'),
    phrases: Optional(List(Text({ format: 'caption-phrase' }), { maxItems: 1000 })),
    include_speakers: Optional(Flag()),
    include_words: Optional(Flag()),
    replace_existing: Optional(Flag({ default: false })),
    track_name: Optional(Text({ minLength: 1, maxLength: 255 })),
    upload_to_mux: uploadToMux(),
  }),
  moderate: Fields({
    thresholds: Optional(Fields({ sexual: score(), violence: score() })),
    max_samples: Optional(Integer({ minimum: 1, maximum: 1000 })),
    sampling_interval: Optional(Numeric({ minimum: 5, description: 'Seconds' })),
    on_flagged: Optional(Fields({ action: Enum(['delete_playback_ids']) })),
    language_code: readTrack(),
    output_steering: steering(),
  }),
  summarize: Fields({
    tone: Optional(Enum(['neutral', 'playful', 'professional'])),
    tag_count: Optional(Integer({ minimum: 1, maximum: 100, default: 10 })),
    title_length: words(),
    description_length: words(),
    update_asset_meta: Optional(Flag({ description: "Writes the title as the asset's `meta.title`" })),
    language_code: readTrack(),
    output_language_code: outputLanguage(),
    output_steering: steering(),
    prompt_overrides: overrides(),
  }),
  'translate-audio': Fields({
    to_language_code: Text({ format: 'bcp-47' }),
    upload_to_mux: uploadToMux(),
  }),
  'translate-captions': Fields({
    to_language_code: Text({ format: 'bcp-47' }),
    never_translate: Optional(terms('caption-term')),
    upload_to_mux: uploadToMux(),
  }),
} as const satisfies Record<string, TObject>;

export type WorkflowName = keyof typeof workflowParams;
export const workflowNames = Object.keys(workflowParams) as readonly WorkflowName[];
export const isWorkflowName = (name: unknown): name is WorkflowName => workflowNames.includes(name as WorkflowName);

/** Workflows that change one text track; a job must name the track. */
const OF_A_TRACK: readonly WorkflowName[] = ['edit-captions', 'translate-captions'];
export const needsTrack = (workflow: WorkflowName): boolean => OF_A_TRACK.includes(workflow);

/** Parameters of a workflow in a job; `track_id` is present if the workflow needs a track. */
export type WorkflowParams<W extends WorkflowName> = Static<(typeof workflowParams)[W]> & {
  readonly asset_id: string;
  readonly track_id?: string;
};

const titleOf = (workflow: string): string =>
  `${workflow
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')}Parameters`;

/** `parameters` of POST /robots/v0/jobs/{workflow}. */
export const jobParameters = (workflow: WorkflowName): TObject<TProperties> =>
  Type.Object(
    {
      asset_id: Text({ minLength: 1, description: 'ID of a ready asset' }),
      ...(needsTrack(workflow) && { track_id: Text({ description: 'ID of a ready text track' }) }),
      ...workflowParams[workflow].properties,
    } as Record<string, TSchema>,
    { title: titleOf(workflow) },
  );
