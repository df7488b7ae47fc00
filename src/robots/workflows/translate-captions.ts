import { listTracks } from '../../db/tables/assets/track.js';
import { publishText } from '../../domain/tracks/publish-text.js';
import { languageName } from '../../domain/tracks/track-name.js';
import { KinoraError } from '../../lib/errors.js';
import { isSameLanguage } from '../../media/speech/languages.js';
import { indexCues } from '../../media/text/text-index.js';
import type { WorkflowParams } from '../api/workflows.js';
import { cueText, plainText } from '../calculations/edit-cues.js';
import { askTranslation } from '../prompts/translate-captions.js';
import { readCaptions } from '../support/captions.js';
import type { Workflow } from '../support/workflow-run.js';

const FILE = 'vtt';

export const translateCaptions: Workflow = async (run) => {
  const { context, job, asset, texts } = run;
  const parameters = job.parameters as WorkflowParams<'translate-captions'>;
  const { to_language_code: to, never_translate: terms = [], upload_to_mux: isUploaded = true } = parameters;
  const { track, cues } = await readCaptions(run, parameters.track_id!);
  const from = track.language_code ?? undefined;
  const translated = await askTranslation(run, cues, { from, to, terms });
  const cuesOfTrack = cues
    .map((cue, at) => ({ ...cue, text: cueText(translated[at]!) }))
    .filter(({ text }) => text !== '');
  const text = indexCues(cuesOfTrack);
  await run.writeFile(FILE, text.bytes);
  if (isUploaded) await texts.store(asset.id, job.new_track_id, text);
  const source = cues.map(plainText).join(' ');
  const result = translated.join(' ');
  const preserved = terms.filter((term) => source.includes(term)).every((term) => result.includes(term));
  return {
    publish: async ({ tx, asset: locked }) => {
      const outputs = terms.length > 0 ? { never_translate_terms_preserved: preserved } : {};
      const files = { temporary_vtt_url: FILE };
      if (!isUploaded) return { outputs, files };
      const others = await listTracks(tx, [asset.id]);
      if (
        others.some(
          ({ type, status, language_code }) =>
            type === 'text' && status !== 'errored' && isSameLanguage(language_code, to),
        )
      )
        throw new KinoraError('invalid_input', { messages: [`Asset already has a text track in the language ${to}`] });
      await publishText(context, tx, locked, {
        id: job.new_track_id,
        name: languageName(to),
        languageCode: to,
        closedCaptions: track.closed_captions ?? false,
      });
      return { outputs: { ...outputs, uploaded_track_id: job.new_track_id }, files };
    },
  };
};
