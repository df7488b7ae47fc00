import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox';
import { MAX_ENTRIES } from '../../api/schemas/common.js';

/**
 * Parameters of the workflows, by name. Directives take the same parameters without the asset and
 * the track.
 */

const { Optional, Array: List, Boolean: Flag, Enum, Integer, Number: Numeric, Object: Fields, String: Text } = Type;

const language = (description: string) =>
  Optional(Text({ format: 'bcp-47', description: `${description}, as a BCP 47 code such as \`en\` or \`pt-BR\`` }));
const words = (of: string) =>
  Optional(Integer({ minimum: 1, maximum: 1000, description: `Largest number of words in the ${of}, 1 to 1,000` }));
/** Hints for the model. Only `scope` is enforced. */
const steering = () =>
  Optional(
    Type.Unsafe<{ scope?: { start_time?: number; end_time?: number }; [hint: string]: unknown }>({
      type: 'object',
      'x-free': true,
      description:
        'Hints for the model, in fields of your choice. `scope` limits the job to a time range: `start_time` and `end_time` in seconds',
    }),
  );
const overrides = () =>
  Optional(
    Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      'x-free': true,
      description: 'Deprecated: accepted and ignored',
    }),
  );
const readTrack = () => language('Language of the text track to read. When absent, an English track or else the first');
const outputLanguage = () => language('Language of the result. That of the text track when absent');
const toLanguage = () =>
  Text({ format: 'bcp-47', description: 'Language to translate into, as a BCP 47 code such as `en` or `pt-BR`' });
const uploadToMux = () =>
  Optional(
    Flag({
      default: true,
      description: 'Whether the result becomes a track of the asset. If not, the job returns a temporary URL',
    }),
  );
const score = (of: string, preset: number) =>
  Optional(
    Numeric({
      minimum: 0,
      maximum: 1,
      description: `Score for ${of} content, from 0 to 1, above which the asset is flagged. Defaults to ${preset}`,
    }),
  );
const milliseconds = (description: string, minimum = 0) =>
  Integer({ minimum, description: `${description}, in milliseconds` });
const terms = (description: string, format?: string) =>
  List(Text({ minLength: 1, maxLength: 200, ...(format && { format }) }), {
    maxItems: MAX_ENTRIES,
    description: `${description}: at most 100, each with 1 to 200 characters`,
  });

const replacement = (of: string) => ({
  find: Text({ minLength: 1, maxLength: 500, description: `The ${of} to look for, 1 to 500 characters` }),
  replace: Text({ maxLength: 500, description: 'The text to put there, at most 500 characters. Empty removes it' }),
});

export const workflowParams = {
  'ask-questions': Fields({
    questions: List(
      Fields({
        question: Text({
          minLength: 1,
          maxLength: 600,
          description: 'The question about the video, 1 to 600 characters',
        }),
        answer_options: Optional(
          List(Text({ minLength: 1, maxLength: 150 }), {
            minItems: 1,
            maxItems: 50,
            description:
              'The answers to choose from: 1 to 50, each with at most 150 characters. Yes and no when absent. Excludes `free_form_reply`',
          }),
        ),
        free_form_reply: Optional(
          Flag({ description: 'Whether the answer is a text of its own. Excludes `answer_options`' }),
        ),
      }),
      { minItems: 1, maxItems: 50, description: 'The questions to answer, 1 to 50. Answers have the same order' },
    ),
    language_code: readTrack(),
    max_free_form_answer_length: Optional(
      Integer({
        minimum: 1,
        maximum: 1000,
        description:
          'Length of answers to `free_form_reply` questions, in characters: 1 to 1,000, at most. Defaults to 500',
      }),
    ),
    output_steering: steering(),
  }),
  'edit-captions': Fields({
    replacements: Optional(
      List(
        Fields({
          ...replacement('text'),
          case_sensitive: Optional(
            Flag({ default: false, description: 'Whether upper and lower case letters are different' }),
          ),
        }),
        { maxItems: MAX_ENTRIES, description: 'Texts to replace in the subtitles, at most 100' },
      ),
    ),
    speaker_replacements: Optional(
      List(Fields(replacement('name of a speaker')), {
        maxItems: MAX_ENTRIES,
        description: 'Names of speakers to replace in the subtitles, at most 100',
      }),
    ),
    auto_censor_profanity: Optional(
      Fields(
        {
          mode: Optional(
            Enum(['blank', 'remove', 'mask'], {
              default: 'blank',
              description:
                'How a word is censored: `blank` writes `[____]`, `remove` drops it, `mask` writes a question mark per character',
            }),
          ),
          always_censor: Optional(terms('Words to censor in any case')),
          never_censor: Optional(terms('Words to keep in any case')),
          detection_method: Optional(
            Enum(['llm'], { description: 'How profanity is found. Only a language model is available' }),
          ),
        },
        { description: 'Censors profanity. Nothing is censored when absent' },
      ),
    ),
    upload_to_mux: uploadToMux(),
    delete_original_track: Optional(
      Flag({ default: true, description: 'Whether the edited track replaces the original track' }),
    ),
    track_name_suffix: Optional(
      Text({
        maxLength: 100,
        default: 'edited',
        description: 'What to add to the name of the original track, at most 100 characters',
      }),
    ),
  }),
  'find-best-thumbnails': Fields({
    max_thumbnails: Optional(
      Integer({ minimum: 1, maximum: 5, default: 1, description: 'Number of frames to find, 1 to 5' }),
    ),
    update_asset_thumbnail: Optional(
      Flag({ description: 'Whether the time of the best frame becomes the `thumbnail_time` of the asset' }),
    ),
    output_steering: steering(),
  }),
  'find-key-moments': Fields({
    max_moments: Optional(
      Integer({
        minimum: 1,
        maximum: 100,
        description: 'Number of moments to find, 1 to 100. Defaults to 10 for assets of up to one hour, else to 25',
      }),
    ),
    target_duration_ms: Optional(
      Fields(
        {
          min: milliseconds('Shortest duration of a moment'),
          max: milliseconds('Longest duration of a moment'),
        },
        { description: 'How long moments should be' },
      ),
    ),
    use_shots: Optional(
      Flag({ default: false, description: 'Whether moments begin and end at shot boundaries. Requires video' }),
    ),
    output_steering: steering(),
  }),
  'find-scenes': Fields({
    language_code: readTrack(),
    min_scenes: Optional(
      Integer({ minimum: 1, maximum: 500, description: 'Smallest number of scenes to find, 1 to 500' }),
    ),
    min_scene_duration_ms: Optional(milliseconds('Shortest duration of a scene, 15,000 by default', 1)),
    output_steering: steering(),
  }),
  'generate-chapters': Fields({
    language_code: readTrack(),
    output_language_code: outputLanguage(),
    update_asset_chapters: Optional(Flag({ description: 'Whether the result replaces the chapters of the asset' })),
    output_steering: steering(),
    prompt_overrides: overrides(),
  }),
  'generate-engagement-insights': Fields({}),
  'generate-premium-captions': Fields({
    language_code: language('Language that is spoken. Detected when absent'),
    phrases: Optional(
      List(Text({ format: 'caption-phrase' }), {
        maxItems: 1000,
        description:
          'Words and phrases to expect, such as names: at most 1,000, each with at most 49 characters and 5 words',
      }),
    ),
    include_speakers: Optional(Flag({ description: 'Whether the subtitles say who speaks' })),
    include_words: Optional(Flag({ description: 'Whether the job also returns the time of each word' })),
    replace_existing: Optional(
      Flag({
        default: false,
        description: 'Whether an existing track in the language is replaced. Requires `upload_to_mux`',
      }),
    ),
    track_name: Optional(
      Text({ minLength: 1, maxLength: 255, description: 'Name of the new track, 1 to 255 characters' }),
    ),
    upload_to_mux: uploadToMux(),
  }),
  moderate: Fields({
    thresholds: Optional(
      Fields(
        { sexual: score('sexual', 0.7), violence: score('violent', 0.8) },
        { description: 'Scores above which the asset is flagged' },
      ),
    ),
    max_samples: Optional(
      Integer({ minimum: 1, maximum: 1000, description: 'Largest number of frames to look at, 1 to 1,000' }),
    ),
    sampling_interval: Optional(
      Numeric({ minimum: 5, description: 'Time between the frames to look at, in seconds, at least 5' }),
    ),
    on_flagged: Optional(
      Fields(
        {
          action: Enum(['delete_playback_ids'], {
            description: 'The action. `delete_playback_ids` stops all playback of the asset',
          }),
        },
        { description: 'What to do with an asset that is flagged. Nothing when absent' },
      ),
    ),
    language_code: readTrack(),
    output_steering: steering(),
  }),
  summarize: Fields({
    tone: Optional(
      Enum(['neutral', 'playful', 'professional'], { description: 'The style of the title and the description' }),
    ),
    tag_count: Optional(
      Integer({ minimum: 1, maximum: 100, default: 10, description: 'Number of tags to return, 1 to 100' }),
    ),
    title_length: words('title'),
    description_length: words('description'),
    update_asset_meta: Optional(Flag({ description: 'Whether the title becomes the `meta.title` of the asset' })),
    language_code: readTrack(),
    output_language_code: outputLanguage(),
    output_steering: steering(),
    prompt_overrides: overrides(),
  }),
  'translate-audio': Fields({
    to_language_code: toLanguage(),
    upload_to_mux: uploadToMux(),
  }),
  'translate-captions': Fields({
    to_language_code: toLanguage(),
    never_translate: Optional(terms('Terms to keep as they are', 'caption-term')),
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
      asset_id: Text({ minLength: 1, description: 'ID of the asset to work on, which must be `ready`' }),
      ...(needsTrack(workflow) && {
        track_id: Text({ description: 'ID of the text track to work on, which must be `ready`' }),
      }),
      ...workflowParams[workflow].properties,
    } as Record<string, TSchema>,
    { title: titleOf(workflow), description: `Parameters of the workflow \`${workflow}\`` },
  );
