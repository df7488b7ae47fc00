import { json } from 'node:stream/consumers';
import type { Transaction } from '../../db/database.js';
import { listTracks } from '../../db/tables/assets/track.js';
import { type CaptionsPayload, queues } from '../../domain/queues.js';
import { dropTrack } from '../../domain/tracks/delete-track.js';
import { publishText } from '../../domain/tracks/publish-text.js';
import { languageName } from '../../domain/tracks/track-name.js';
import { KinoraError } from '../../lib/errors.js';
import { isSameLanguage, languageCodeOf } from '../../media/speech/languages.js';
import type { Word } from '../../media/speech/word.js';
import { listCues } from '../../media/text/text-index.js';
import { readBlob } from '../../storage/blob-store.js';
import { trackWordsKey } from '../../storage/keys.js';
import type { WorkflowParams } from '../api/workflows.js';
import { writeSrt } from '../calculations/write-srt.js';
import { stepKey } from '../jobs/job-files.js';
import type { Workflow, WorkflowEnd, WorkflowRun } from '../support/workflow-run.js';

/**
 * The step of a job that records what was recognized. When it exists, so do the words and the text
 * of the job's track.
 */
export const SPEECH_STEP = 'speech';

/** The content of the step; the language is present only if it was detected. */
export interface RecognizedSpeech {
  readonly language?: string | undefined;
  readonly confidence?: number | undefined;
}

const SRT = 'srt';
const WORDS = 'json';

type Parameters = WorkflowParams<'generate-premium-captions'>;

const unusable = (message: string): KinoraError => new KinoraError('invalid_input', { messages: [message] });

/**
 * Starts speech recognition for the asset and waits for it. The captions become a track when the
 * job ends.
 */
export const generatePremiumCaptions: Workflow = async (run) => {
  const { context, job, asset } = run;
  const { language_code: asked, include_words: withWords } = job.parameters as Parameters;
  if (!context.recognizesSpeech)
    throw new KinoraError('provider_unavailable', { messages: ['Speech recognition is not available.'] });
  if (asked !== undefined && languageCodeOf(asked) === undefined)
    throw unusable(`Speech in the language ${asked} cannot be recognized.`);
  const audioTrackId = await findAudio(run);
  const speech = await run.blobs.read(stepKey(asset.id, job.id, SPEECH_STEP));
  if (!speech) return awaitRecognition(run, { robotsJobId: job.id, audioTrackId });
  const { language: detected, confidence } = (await json(speech)) as RecognizedSpeech;
  await writeFiles(run, withWords === true);
  const language = asked ?? detected ?? 'und';
  const certainty = asked === undefined ? confidence : 1;
  const outputs = {
    language_code: language,
    ...(language !== 'und' && { detected_language: language }),
    ...(certainty !== undefined && { auto_language_confidence: certainty }),
  };
  const files = { temporary_srt_url: SRT, ...(withWords && { temporary_words_url: WORDS }) };
  return {
    publish: async ({ tx }) => ({
      outputs: { ...outputs, ...(await publishTrack(run, tx, { language, confidence, audioTrackId })) },
      files,
    }),
  };
};

const findAudio = async ({ context, asset, job }: WorkflowRun): Promise<string> => {
  const audio = (await listTracks(context.database.queryable, [asset.id])).filter(
    ({ type, status }) => type === 'audio' && status === 'ready',
  );
  const chosen =
    audio.find(({ id }) => id === job.input_track_id) ?? audio.find(({ is_primary }) => is_primary) ?? audio[0];
  if (!chosen) throw unusable('The asset has no audio.');
  return chosen.id;
};

const awaitRecognition = async (
  { context, asset, job, blobs }: WorkflowRun,
  payload: CaptionsPayload,
): Promise<WorkflowEnd> => {
  await context.queue.enqueue(queues.recognizeSpeech, payload);
  const key = stepKey(asset.id, job.id, SPEECH_STEP);
  return { waitUntil: async () => (await blobs.stat(key)) !== undefined };
};

const writeFiles = async (run: WorkflowRun, withWords: boolean): Promise<void> => {
  const { asset, job, texts, blobs } = run;
  const text = await texts.find(asset.id, job.new_track_id);
  const words = await readBlob(blobs, trackWordsKey(asset.id, job.new_track_id));
  if (!text || !words) throw new KinoraError('internal_error', { details: { reason: 'recognized text is gone' } });
  await run.writeFile(SRT, writeSrt(listCues(text)));
  if (!withWords) return;
  const shown = (JSON.parse(words.toString()) as Word[]).map(({ text, startMs, endMs }) => ({
    text,
    start_ms: startMs,
    end_ms: endMs,
  }));
  await run.writeFile(WORDS, Buffer.from(JSON.stringify({ words: shown })));
};

/**
 * Replaces the tracks of the language if the job says so. Returns the outputs, which are empty
 * without a track.
 */
const publishTrack = async (
  { context, job, asset }: WorkflowRun,
  tx: Transaction,
  {
    language,
    confidence,
    audioTrackId,
  }: { readonly language: string; readonly confidence: number | undefined; readonly audioTrackId: string },
): Promise<object> => {
  const parameters = job.parameters as Parameters;
  if (parameters.upload_to_mux === false) return {};
  const others = (await listTracks(tx, [asset.id])).filter(
    ({ type, language_code }) => type === 'text' && isSameLanguage(language_code, language),
  );
  if (!parameters.replace_existing && others.some(({ status }) => status !== 'errored'))
    throw unusable(`Asset already has a text track in the language ${language}`);
  const replaced = parameters.replace_existing ? others : [];
  for (const track of replaced) await dropTrack(context, tx, asset.environment_id, track);
  await publishText(context, tx, asset, {
    id: job.new_track_id,
    name: parameters.track_name ?? `${languageName(language)} (generated)`,
    languageCode: language,
    closedCaptions: false,
    recognized: { audioTrackId, confidence },
  });
  return { track_id: job.new_track_id, ...(replaced[0] && { replaced_track_id: replaced[0].id }) };
};
