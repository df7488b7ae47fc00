import { Type } from 'typebox';
import { LiveStreamResponse, SimulcastTargetResponse } from '../responses/live-stream.js';
import { PlaybackIdResponse } from '../responses/playback-id.js';
import { Input } from '../schemas/input.js';
import {
  CreateLiveStreamBody,
  LIVE_ASSET_SETTINGS,
  LiveAssetSettings,
  NewSimulcastTarget,
  UpdateEmbeddedSubtitlesBody,
  UpdateGeneratedSubtitlesBody,
  UpdateLiveStreamBody,
  UpdateStaticRenditionsBody,
} from '../schemas/live-stream.js';
import { NewPlaybackId } from '../schemas/playback-id.js';
import { list, one } from '../schemas/response.js';
import { type Description, paging } from './description.js';

const live = { tag: 'Live streams' } as const;

/** The first input is the recording. It has no URL and can be omitted. */
const CreateBody = Type.Object({
  ...CreateLiveStreamBody.properties,
  new_asset_settings: Type.Optional(
    Type.Object(
      {
        ...LiveAssetSettings.properties,
        inputs: Type.Optional(
          Type.Array(Type.Partial(Input), {
            description:
              'The first input is the recording and has no `url`; all others have one. It can be omitted if the list starts with a text track, an audio track or an overlay',
          }),
        ),
        input: Type.Optional(
          Type.Union([Type.Array(Type.Partial(Input)), Type.Partial(Input)], {
            deprecated: true,
            description: 'Deprecated: use `inputs`, which wins if both are present',
          }),
        ),
      },
      { description: LIVE_ASSET_SETTINGS },
    ),
  ),
});

const nothing = Type.Object({ data: Type.Object({}, { description: 'Nothing: an empty object' }) });

export const liveOperations = {
  createLiveStream: {
    ...live,
    summary: 'Create a live stream',
    details:
      'Returns its secret `stream_key`. An encoder sends to the RTMP address of the server with this key. Each broadcast becomes an asset.',
    body: CreateBody,
    example: { playback_policies: ['public'], new_asset_settings: { playback_policies: ['public'] } },
    response: one(LiveStreamResponse),
  },
  listLiveStreams: {
    ...live,
    summary: 'List live streams',
    details: 'Newest first, with any status.',
    query: {
      ...paging(),
      status: Type.Enum(['active', 'idle', 'disabled'], { description: 'Only live streams with this status' }),
      stream_key: Type.String({ description: 'Only the live stream with this stream key' }),
    },
    response: list(LiveStreamResponse),
  },
  getLiveStream: {
    ...live,
    summary: 'Retrieve a live stream',
    details: 'Returns the live stream with its state and the IDs of its latest assets.',
    response: one(LiveStreamResponse),
  },
  updateLiveStream: {
    ...live,
    summary: 'Update a live stream',
    details: 'Changes the given fields. A new latency mode applies to the next broadcast.',
    body: UpdateLiveStreamBody,
    example: { latency_mode: 'low', reconnect_window: 30 },
    response: one(LiveStreamResponse),
  },
  deleteLiveStream: {
    ...live,
    summary: 'Delete a live stream',
    details: 'Ends its broadcast and disconnects its encoder. Recorded assets stay.',
  },
  createLivePlaybackId: {
    ...live,
    summary: 'Create a playback ID of a live stream',
    details: 'Adds another ID that plays the broadcasts of the live stream.',
    body: NewPlaybackId,
    example: { policy: 'signed' },
    response: one(PlaybackIdResponse),
  },
  getLivePlaybackId: {
    ...live,
    summary: 'Retrieve a playback ID of a live stream',
    details: 'Returns a playback ID of the live stream with its policy.',
    response: one(PlaybackIdResponse),
  },
  deleteLivePlaybackId: {
    ...live,
    summary: 'Delete a playback ID of a live stream',
    details: 'Refuses new viewers immediately. A broadcast goes on.',
  },
  resetStreamKey: {
    ...live,
    summary: 'Reset the stream key',
    details: 'Makes a new stream key. The old one stops working, and its encoder is disconnected.',
    body: 'none',
    response: one(LiveStreamResponse),
  },
  completeLiveStream: {
    ...live,
    summary: 'Complete a broadcast',
    details:
      'Ends the broadcast without waiting for the `reconnect_window`. The encoder is disconnected a minute later, so that it does not start another broadcast by reconnecting. Does nothing without a broadcast.',
    body: 'none',
    response: nothing,
  },
  disableLiveStream: {
    ...live,
    summary: 'Disable a live stream',
    details: 'Ends its broadcast, disconnects its encoder and accepts none until it is enabled.',
    body: 'none',
    response: nothing,
  },
  enableLiveStream: {
    ...live,
    summary: 'Enable a live stream',
    details: 'Accepts encoders again. Does nothing unless the live stream is `disabled`.',
    body: 'none',
    response: nothing,
  },
  updateEmbeddedSubtitles: {
    ...live,
    summary: 'Replace the embedded subtitles',
    details: 'Sets which captions inside the video (CEA-608) become text tracks. An empty list removes them.',
    body: UpdateEmbeddedSubtitlesBody,
    example: { embedded_subtitles: [{ language_code: 'en', language_channel: 'cc1' }] },
    response: one(LiveStreamResponse),
  },
  updateGeneratedSubtitles: {
    ...live,
    summary: 'Replace the generated subtitles',
    details: 'Sets which subtitles are recognized from speech in later broadcasts. An empty list removes them.',
    body: UpdateGeneratedSubtitlesBody,
    example: { generated_subtitles: [{ language_code: 'en', name: 'English' }] },
    response: one(LiveStreamResponse),
  },
  createSimulcastTarget: {
    ...live,
    summary: 'Create a simulcast target',
    details: 'Adds a service that gets a copy of each broadcast. Possible while the live stream is idle.',
    body: NewSimulcastTarget,
    example: { url: 'rtmp://live.example.com/app', stream_key: 'abcdefgh' },
    response: one(SimulcastTargetResponse),
  },
  getSimulcastTarget: {
    ...live,
    summary: 'Retrieve a simulcast target',
    details: 'Returns the simulcast target with its state.',
    response: one(SimulcastTargetResponse),
  },
  deleteSimulcastTarget: {
    ...live,
    summary: 'Delete a simulcast target',
    details: 'Possible while the live stream is idle.',
  },
  updateLiveStaticRenditions: {
    ...live,
    summary: 'Replace the static renditions of later assets',
    details: 'Sets the files that are made of each later broadcast, after its end.',
    body: UpdateStaticRenditionsBody,
    example: { static_renditions: [{ resolution: 'highest' }, { resolution: 'audio-only' }] },
    response: one(LiveStreamResponse),
  },
  deleteLiveStaticRenditions: {
    ...live,
    summary: 'Remove the static renditions of later assets',
    details: 'No files are made of later broadcasts.',
  },
} as const satisfies Record<string, Description>;
