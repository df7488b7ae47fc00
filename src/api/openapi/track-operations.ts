import { TrackResponse } from '../responses/track.js';
import { list, one } from '../schemas/response.js';
import { CreateTrackBody, GenerateSubtitlesBody, UpdateTrackBody } from '../schemas/track.js';
import type { Description } from './description.js';

const tracks = { tag: 'Tracks' } as const;

export const trackOperations = {
  createTrack: {
    ...tracks,
    summary: 'Create a track',
    details: 'The track is `preparing` at first. When it is `ready`, it is added to the playlists.',
    body: CreateTrackBody,
    example: {
      url: 'https://media.example.org/walk.de.srt',
      type: 'text',
      text_type: 'subtitles',
      language_code: 'de',
      name: 'Deutsch',
    },
    response: one(TrackResponse),
  },
  updateTrack: {
    ...tracks,
    summary: 'Update a track',
    details: 'Omitted fields do not change. An empty `passthrough` removes it. Playlists change immediately.',
    body: UpdateTrackBody,
    example: { name: 'Deutsch (Untertitel)', closed_captions: true },
    response: one(TrackResponse),
  },
  deleteTrack: {
    ...tracks,
    summary: 'Delete a track',
    details:
      'The video track and the main audio track cannot be deleted. Processing of a track that is `preparing` stops.',
  },
  generateSubtitles: {
    ...tracks,
    summary: 'Generate subtitles',
    details:
      'The tracks are `preparing` at first. They end as `errored` if there is no speech or the server has no speech recognition.',
    body: GenerateSubtitlesBody,
    example: { generated_subtitles: [{ language_code: 'en', name: 'English CC' }] },
    response: list(TrackResponse),
  },
} as const satisfies Record<string, Description>;
