import { type TSchema, Type } from 'typebox';

/** What the document says of an operation beyond its line in the table. */
export interface Description {
  readonly tag: Tag;
  /** Begins with a verb. */
  readonly summary: string;
  readonly details?: string;
  readonly query?: Readonly<Record<string, TSchema>>;
  /** The schema that validates requests; `none` for an operation that reads no body. */
  readonly body?: TSchema | 'none';
  /** A body that would be accepted. */
  readonly example?: object;
  /** The whole body of a success; absent for 204. */
  readonly answer?: TSchema;
  readonly deprecated?: boolean;
  /** May be refused because of what is under way. */
  readonly canConflict?: true;
}

export const tags = {
  Assets: 'Videos and audio: made from files, read, changed, deleted.',
  'Playback IDs': 'What a viewer knows of an asset, and who may watch.',
  Tracks: 'Subtitles and further languages.',
  Renditions: 'Files to download.',
  'Direct uploads': 'Files that come from a browser or an app.',
  'Playback restrictions': 'Where signed playback is allowed.',
  'Signing keys': 'Keys that sign playback tokens.',
  'Webhooks and events': 'What happened, and who is told.',
  'Delivery usage': 'How much of each asset was watched.',
  'Transcription vocabularies': 'Words that speech recognition should know.',
  'DRM configurations':
    'Where keys and licenses of DRM playback ids come from; the operator makes them by `kinora drm create`.',
  Directives: 'Which workflows run on assets, and what they wait for.',
  'Robots jobs': 'Workflows that read an asset and write about it.',
  Account: 'Who is calling.',
} as const;
export type Tag = keyof typeof tags;

/** An empty value in a query counts as absent. */
const positive = (description: string, preset: number) => Type.Integer({ minimum: 1, default: preset, description });

export const paging = (limits = { default: 25, max: 100 }) => ({
  limit: positive(`Items in a page; more than ${limits.max} counts as ${limits.max}`, limits.default),
  page: positive('Number of the page; one past the end is empty', 1),
});

export const pagingWithCursor = () => ({
  ...paging(),
  cursor: Type.String({ description: '`next_cursor` of the page before; `page` is then ignored' }),
});

/** Written `timeframe[]=a&timeframe[]=b`. */
export const timeframe = (description: string) => ({
  timeframe: Type.Array(Type.String(), { maxItems: 2, description }),
});
