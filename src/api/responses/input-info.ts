import { Type } from 'typebox';
import type { InputRecord } from '../../domain/asset-view/asset-view.js';
import { hideCredentials } from '../../domain/requests/inputs.js';
import { pixels, seconds } from '../schemas/response.js';
import { type Wire, withoutNulls } from '../wire.js';

const { Optional, Object: Fields, Enum, Number: Numeric, Integer, String: Text } = Type;

const InputTrack = Fields({
  type: Enum(['video', 'audio', 'text', 'image'], { description: 'What the track of the file holds' }),
  duration: Optional(seconds('Length of the track. Absent if the file does not say')),
  encoding: Optional(Text({ description: 'Name of the codec, such as `h264` or `aac`' })),
  width: Optional(pixels('Width of the video or image')),
  height: Optional(pixels('Height of the video or image')),
  frame_rate: Optional(Numeric({ description: 'Frames per second. Video tracks only' })),
  channels: Optional(Integer({ description: 'Number of audio channels. Audio tracks only' })),
  sample_rate: Optional(Integer({ description: 'Audio samples per second, in Hz. Audio tracks only' })),
  sample_size: Optional(Integer({ description: 'Bits per audio sample. Absent if the codec has none' })),
  language_code: Optional(
    Text({ description: 'Only in Kinora: the language that the file declares. Audio and text tracks only' }),
  ),
  name: Optional(
    Text({ description: 'Only in Kinora: the title of the track in the file. Audio and text tracks only' }),
  ),
});

export const InputInfoResponse = Fields(
  {
    settings: Type.Unsafe({
      type: 'object',
      description:
        'The input as it was accepted, without credentials in its URL. The file of a direct upload has no URL',
    }),
    file: Optional(
      Fields(
        {
          container_format: Text({ description: 'Name of the file format, such as `mov,mp4,m4a,3gp,3g2,mj2`' }),
          tracks: Type.Array(InputTrack, { description: 'The tracks that the file holds, in the order of the file' }),
        },
        { description: 'What the file holds. Present after it is probed' },
      ),
    ),
    early_playback: Optional(
      Fields(
        {
          status: Enum(['played', 'ended', 'stored_first'], {
            description:
              '`played` if it could be played early, `ended` if that stopped before, `stored_first` if it never could',
          }),
          reason: Optional(Text({ description: 'Why early playback stopped or was not possible' })),
        },
        {
          description:
            'Only in Kinora, for the main input: whether the asset could be played before its file was stored',
        },
      ),
    ),
    copy_decision: Optional(
      Text({
        description:
          'Only in Kinora, for the main input with video: whether the rendition with the highest resolution is the video of the file itself (`copied`) or was encoded, and why',
      }),
    ),
  },
  { title: 'InputInfo', description: 'An input of an asset, and what its file holds' },
);

export const serializeInput = ({ settings, file, early_playback, copy_decision }: InputRecord): Wire =>
  withoutNulls({ settings: hideCredentials(settings), file, early_playback, copy_decision });
