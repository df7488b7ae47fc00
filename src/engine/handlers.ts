import { measureComplexity } from './analysis/complexity.js';
import { measureFrames } from './analysis/frame-quality.js';
import { indexMatroska } from './analysis/index-matroska.js';
import { indexMp4 } from './analysis/index-mp4.js';
import { indexSource } from './analysis/index-source.js';
import { measureLoudness } from './analysis/loudness.js';
import { probe } from './analysis/probe.js';
import { checkSanity } from './analysis/sanity.js';
import { scoreShots } from './analysis/shot-scores.js';
import { makeAudioChunk } from './audio/chunk.js';
import { concatenateRecordings } from './file/concatenate.js';
import { readEmbeddedText } from './file/embedded-text.js';
import { remux } from './file/remux.js';
import { makeSample } from './file/sample.js';
import { makeAnimated } from './image/animation.js';
import { makeStill } from './image/still.js';
import { makeStoryboard } from './image/storyboard.js';
import type { MediaHandlers } from './ipc/serve-jobs.js';
import { findSpeech } from './speech/find-speech.js';
import { recognizeSpeech } from './speech/recognize-speech.js';
import { writeSpeechAudio } from './speech/speech-audio.js';
import { makeMezzanine } from './video/mezzanine.js';
import { readOverlayImage } from './video/overlay-image.js';
import { makeVideoSegment } from './video/segment.js';
import { makeVideoConfig } from './video/video-config.js';

/** Maps every kind of job to its function. */
export const handlers: MediaHandlers = {
  probe,
  index: async (job, context) => (await indexMp4(job)) ?? indexSource(job, context),
  'predict-index': indexMatroska,
  sanity: checkSanity,
  complexity: measureComplexity,
  'video-segment': makeVideoSegment,
  'video-config': makeVideoConfig,
  'audio-chunk': makeAudioChunk,
  loudness: measureLoudness,
  mezzanine: makeMezzanine,
  concatenate: concatenateRecordings,
  remux,
  'embedded-text': readEmbeddedText,
  sample: makeSample,
  'overlay-image': readOverlayImage,
  still: makeStill,
  animated: makeAnimated,
  storyboard: makeStoryboard,
  'shot-scores': scoreShots,
  'find-speech': findSpeech,
  'speech-audio': writeSpeechAudio,
  'recognize-speech': recognizeSpeech,
  'frame-quality': measureFrames,
};
