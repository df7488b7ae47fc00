import { languageOf } from '../../../domain/tracks/embedded-tracks.js';
import type { SourceFacts, StreamLabel } from '../../../media/source/source-facts.js';

/** The `file` object of input-info (in API form): what the probe found in the main input. */
export const describeInputFile = (facts: SourceFacts): object => ({
  container_format: facts.formatName,
  tracks: [
    ...(facts.video
      ? [
          {
            type: 'video',
            duration: facts.video.durationSeconds,
            encoding: facts.video.codec,
            width: facts.video.width,
            height: facts.video.height,
            ...(facts.video.frameRate.num > 0 && {
              frame_rate: round3(facts.video.frameRate.num / facts.video.frameRate.den),
            }),
          },
        ]
      : []),
    ...facts.audio.map((audio) => ({
      type: 'audio',
      duration: audio.durationSeconds,
      encoding: audio.codec,
      channels: audio.channels,
      sample_rate: audio.sampleRate,
      sample_size: audio.sampleSizeBits,
      ...describeLabel(audio),
    })),
    ...(facts.text ?? []).map((text) => ({ type: 'text', encoding: text.codec, ...describeLabel(text) })),
    ...[...(facts.unplayable ?? []), ...(facts.otherVideo ?? [])].map(({ type, durationSeconds, codec }) => ({
      type,
      duration: durationSeconds,
      encoding: codec,
    })),
  ],
});

const describeLabel = ({ language, title }: StreamLabel): object => ({
  ...(language !== undefined && { language_code: languageOf(language) }),
  name: title,
});

const round3 = (value: number): number => Math.round(value * 1000) / 1000;
