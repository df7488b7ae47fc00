import { measureComplexity } from './analysis/complexity.js';
import { measureFrames } from './analysis/frame-quality.js';
import { indexMatroska } from './analysis/index-matroska.js';
import { indexFirstTracks, indexMp4 } from './analysis/index-mp4.js';
import { indexSource } from './analysis/index-source.js';
import { measureLoudness } from './analysis/loudness.js';
import { probe } from './analysis/probe.js';
import { checkSanity } from './analysis/sanity.js';
import { scoreShots } from './analysis/shot-scores.js';
import { encodeAudioChunk } from './audio/chunk.js';
import { readClosedCaptions } from './file/closed-captions.js';
import { concatenateRecordings } from './file/concatenate.js';
import { readEmbeddedText } from './file/embedded-text.js';
import { remux } from './file/remux.js';
import { encodeSample } from './file/sample.js';
import { writeAnimated } from './image/animation.js';
import { writeStill } from './image/still.js';
import { writeStoryboard } from './image/storyboard.js';
import type { MediaHandlers } from './ipc/serve-jobs.js';
import { encodeLive } from './live/encode-live.js';
import { encodeLiveAudio } from './live/encode-live-audio.js';
import { encodeSlate } from './live/slate.js';
import { findSpeech } from './speech/find-speech.js';
import { recognizeSpeech } from './speech/recognize-speech.js';
import { writeSpeechAudio } from './speech/speech-audio.js';
import { encodeMezzanine } from './video/mezzanine.js';
import { readOverlayImage } from './video/overlay-image.js';
import { writeVideoSegment } from './video/segment.js';
import { encodeVideoConfig } from './video/video-config.js';

/** Maps every kind of job to its function. */
export const handlers: MediaHandlers = {
  probe,
  index: async (job, context) => (await indexMp4(job)) ?? indexSource(job, context),
  'first-tracks': indexFirstTracks,
  'predict-index': indexMatroska,
  sanity: checkSanity,
  complexity: measureComplexity,
  'video-segment': writeVideoSegment,
  'video-config': encodeVideoConfig,
  'audio-chunk': encodeAudioChunk,
  loudness: measureLoudness,
  mezzanine: encodeMezzanine,
  concatenate: concatenateRecordings,
  remux,
  'embedded-text': readEmbeddedText,
  'closed-captions': readClosedCaptions,
  sample: encodeSample,
  'overlay-image': readOverlayImage,
  still: writeStill,
  animated: writeAnimated,
  storyboard: writeStoryboard,
  'shot-scores': scoreShots,
  'find-speech': findSpeech,
  'speech-audio': writeSpeechAudio,
  'recognize-speech': recognizeSpeech,
  'frame-quality': measureFrames,
  'live-encode': encodeLive,
  'live-audio': encodeLiveAudio,
  slate: encodeSlate,
};
