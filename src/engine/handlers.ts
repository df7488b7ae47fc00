import { makeAnimated } from './animated.js';
import { makeAudioChunk } from './audio-chunk.js';
import { measureComplexity } from './complexity.js';
import { measureFrames } from './frame-quality.js';
import { indexMp4 } from './index-mp4.js';
import { indexSource } from './index-source.js';
import { joinRecordings } from './join-recordings.js';
import { measureLoudness } from './loudness.js';
import { makeMezzanine } from './mezzanine.js';
import { readOverlayImage } from './overlay-image.js';
import { probe } from './probe.js';
import { remux } from './remux.js';
import { makeSample } from './sample.js';
import { checkSanity } from './sanity.js';
import type { MediaHandlers } from './serve-jobs.js';
import { scoreShots } from './shot-scores.js';
import { findSpeech } from './speech/find-speech.js';
import { recognizeSpeech } from './speech/recognize-speech.js';
import { writeSpeechAudio } from './speech/speech-audio.js';
import { makeStill } from './still.js';
import { makeStoryboard } from './storyboard.js';
import { makeVideoConfig } from './video-config.js';
import { makeVideoSegment } from './video-segment.js';

/** Every kind of job and the function that does it. */
export const handlers: MediaHandlers = {
  probe,
  index: async (job, context) => (await indexMp4(job)) ?? indexSource(job, context),
  sanity: checkSanity,
  complexity: measureComplexity,
  'video-segment': makeVideoSegment,
  'video-config': makeVideoConfig,
  'audio-chunk': makeAudioChunk,
  loudness: measureLoudness,
  mezzanine: makeMezzanine,
  join: joinRecordings,
  remux,
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
