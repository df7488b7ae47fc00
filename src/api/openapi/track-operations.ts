import { list, one } from '../schemas/answer.js';
import { TrackAnswer } from '../schemas/asset-answer.js';
import { CreateTrackBody, GenerateSubtitlesBody, UpdateTrackBody } from '../schemas/track.js';
import type { Description } from './description.js';

const tracks = { tag: 'Tracks' } as const;

export const trackOperations = {
  createTrack: {
    ...tracks,
    summary: 'Create a track',
    details: 'The track is `preparing` at first. It joins the playlists when it is `ready`.',
    body: CreateTrackBody,
    example: {
      url: 'https://media.example.org/walk.de.srt',
      type: 'text',
      text_type: 'subtitles',
      language_code: 'de',
      name: 'Deutsch',
    },
    answer: one(TrackAnswer),
  },
  updateTrack: {
    ...tracks,
    summary: 'Update a track',
    details: 'What is not named stays; an empty `passthrough` clears. Playlists show it at once.',
    body: UpdateTrackBody,
    example: { name: 'Deutsch (Untertitel)', closed_captions: true },
    answer: one(TrackAnswer),
  },
  deleteTrack: {
    ...tracks,
    summary: 'Delete a track',
    details: 'Neither the video nor the main audio track. Work on a track that is `preparing` stops.',
  },
  generateSubtitles: {
    ...tracks,
    summary: 'Generate subtitles',
    details:
      'The tracks are `preparing` at first. Without speech, or on a server without speech recognition, they end as `errored`.',
    body: GenerateSubtitlesBody,
    example: { generated_subtitles: [{ language_code: 'en', name: 'English CC' }] },
    answer: list(TrackAnswer),
  },
} as const satisfies Record<string, Description>;
