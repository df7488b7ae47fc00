import { queryOptions } from '@tanstack/react-query';
import type { Track } from './assets';
import { get, request, withQuery } from './client';

const pathOf = (assetId: string): string => `/video/v1/assets/${assetId}/tracks`;

export const addTrack = (
  assetId: string,
  body: Required<Pick<Track, 'type' | 'language_code'>> &
    Pick<Track, 'name' | 'closed_captions'> & { readonly url: string },
): Promise<unknown> => request('POST', pathOf(assetId), body);

/** The API takes URLs only; a file goes to the console's own part of the server. */
export const addTextFile = (
  assetId: string,
  file: File,
  { name, language_code, closed_captions }: Pick<Track, 'name' | 'language_code' | 'closed_captions'>,
): Promise<unknown> =>
  request(
    'POST',
    withQuery(`/console/api/assets/${assetId}/text-tracks`, {
      ...{ name, language_code },
      closed_captions: closed_captions ? 'true' : undefined,
    }),
    file,
  );

export const updateTrack = (
  assetId: string,
  trackId: string,
  change: Pick<Track, 'name' | 'language_code' | 'closed_captions'>,
): Promise<unknown> => request('PATCH', `${pathOf(assetId)}/${trackId}`, change);

export const deleteTrack = (assetId: string, trackId: string): Promise<undefined> =>
  request('DELETE', `${pathOf(assetId)}/${trackId}`);

export const generateSubtitles = (
  assetId: string,
  audioTrackId: string,
  subtitles: { readonly language_code: string; readonly name?: string },
): Promise<unknown> =>
  request('POST', `${pathOf(assetId)}/${audioTrackId}/generate-subtitles`, { generated_subtitles: [subtitles] });

/** A text with its times in seconds. */
export interface Cue {
  readonly start_time: number;
  readonly end_time: number;
  /** WebVTT cue settings, such as `line:0`. */
  readonly settings: string;
  /** WebVTT cue text: `&` is written as `&amp;`. */
  readonly text: string;
}

const cuesPath = (assetId: string, trackId: string): string => `/console/api/assets/${assetId}/tracks/${trackId}/cues`;

/** The cues of a track never change: other cues are another track. */
export const cuesQuery = (assetId: string, trackId: string) =>
  queryOptions({
    queryKey: ['cues', trackId],
    queryFn: ({ signal }) =>
      get<{ data: readonly Cue[] }>(cuesPath(assetId, trackId), {}, signal).then(({ data }) => data),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** Replaces the track with one that has these cues. */
export const replaceCues = (assetId: string, trackId: string, cues: readonly Cue[]): Promise<Track> =>
  request<{ data: Track }>('PUT', cuesPath(assetId, trackId), { cues }).then(({ data }) => data);
