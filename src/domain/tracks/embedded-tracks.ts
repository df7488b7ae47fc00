import type { Transaction } from '../../db/database.js';
import type { NewRow, Row } from '../../db/schema.js';
import { findEnvironmentOf } from '../../db/tables/assets/asset.js';
import { insertTracks, listTracks } from '../../db/tables/assets/track.js';
import { insertTrackMedia } from '../../db/tables/assets/track-media.js';
import { newId } from '../../lib/ids.js';
import type { Plan } from '../../media/plan/plan.js';
import type { SourceWarning } from '../../media/plan/source-warnings.js';
import type { AudioFacts, SourceFacts, StreamLabel, TextFacts } from '../../media/source/source-facts.js';
import { isReadableText } from '../../media/text/embedded-text.js';
import type { DomainContext } from '../context.js';
import { queues } from '../queues.js';
import { isLanguageCode } from '../requests/language-code.js';
import { recordTrackEvent } from './record-track-event.js';
import { claimName, languageName, takenNames } from './track-name.js';

/** Streams of a file that become tracks; further ones are left out with a warning. */
const MAX_EMBEDDED_TEXTS = 50;
const MAX_EMBEDDED_AUDIO = 16;

/** The streams of a main file besides its video and its main audio. */
export interface EmbeddedStreams {
  readonly text: readonly TextFacts[];
  readonly audio: readonly AudioFacts[];
  /** About those that are left out. */
  readonly warnings: readonly SourceWarning[];
}

export const NOTHING_EMBEDDED: EmbeddedStreams = { text: [], audio: [], warnings: [] };

/** Chooses the streams that become tracks; `wanted` as the caller or the operator says. */
export const chooseEmbedded = (facts: SourceFacts, plan: Plan, isRequested: boolean): EmbeddedStreams => {
  const { text = [], audio } = facts;
  const readable = text.filter((stream) => !stream.isImage && isReadableText(stream.codec));
  const alternates = audio.slice(1);
  // The copy with joined recordings contains the main audio only.
  const playable = plan.concatenated || !plan.audio ? [] : alternates;
  const used = {
    text: isRequested ? readable.slice(0, MAX_EMBEDDED_TEXTS) : [],
    audio: isRequested ? playable.slice(0, MAX_EMBEDDED_AUDIO) : [],
  };
  const rest = <T extends TextFacts | AudioFacts>(all: readonly T[], chosen: readonly T[]): T[] =>
    all.filter((stream) => !chosen.includes(stream));
  const remedy = (type: 'text' | 'audio', most: number): string =>
    isRequested
      ? `At most ${most} ${type} streams of a file become tracks. Add others as inputs of their own.`
      : `Set embedded_tracks on the main input to get ${type} tracks, or add inputs of their own.`;
  const audioRemedy = playable.length === 0 ? 'Add them as inputs of their own.' : remedy('audio', MAX_EMBEDDED_AUDIO);
  return {
    ...used,
    warnings: [
      ...tell('audio', rest(alternates, used.audio), audioRemedy),
      ...tell('subtitle', rest(readable, used.text), remedy('text', MAX_EMBEDDED_TEXTS)),
      ...tell(
        'subtitle',
        text.filter((stream) => stream.isImage),
        'Subtitles that are pictures cannot become text tracks. Add SubRip or WebVTT files instead.',
      ),
      ...tell(
        'subtitle',
        text.filter((stream) => !stream.isImage && !isReadableText(stream.codec)),
        'This format is not supported. Add SubRip or WebVTT files instead.',
      ),
    ],
  };
};

const tell = (kind: string, streams: readonly (TextFacts | AudioFacts)[], remedy: string): SourceWarning[] => {
  if (streams.length === 0) return [];
  const list = streams.flatMap((stream) => {
    const code = languageOf(stream.language);
    const label = `(${code === 'und' ? 'unknown language' : languageName(code)}, ${stream.codec})`;
    const right = 'rightStreamIndex' in stream ? [stream.rightStreamIndex] : [];
    return [stream.streamIndex, ...right].map((index) => `${index} ${label}`);
  });
  const [which, are] = list.length === 1 ? ['stream', 'was'] : ['streams', 'were'];
  return [{ type: 'stream_dropped', message: `The ${kind} ${which} ${list.join(', ')} ${are} left out. ${remedy}` }];
};

/**
 * Files use three-letter language codes (ISO 639-2) or none; the API requires BCP 47: `eng` becomes
 * `en`.
 */
export const languageOf = (fileLanguage: string | undefined): string => {
  if (fileLanguage === undefined || !isLanguageCode(fileLanguage)) return 'und';
  return Intl.getCanonicalLocales(fileLanguage)[0] ?? 'und';
};

/** What a menu shows for a stream: its title, or its language. */
export const labelName = ({ title, language }: StreamLabel, otherwise: string): string => {
  if (title !== undefined) return title;
  const code = languageOf(language);
  return code === 'und' ? otherwise : languageName(code);
};

/**
 * Creates the tracks of an asset that becomes ready, in the transaction, and queues their ingest.
 */
export const insertEmbeddedTracks = async (
  context: Pick<DomainContext, 'clock' | 'wire' | 'queue'>,
  tx: Transaction,
  assetId: string,
  facts: SourceFacts,
  { text, audio }: EmbeddedStreams,
): Promise<void> => {
  if (text.length + audio.length === 0) return;
  const environmentId = await findEnvironmentOf(tx, assetId);
  if (environmentId === undefined) return;
  const tracks = await listTracks(tx, [assetId]);
  const names = { text: takenNames(tracks, 'text'), audio: takenNames(tracks, 'audio') };
  const insert = async (row: Omit<NewRow<'track'>, 'id' | 'asset_id' | 'status'>): Promise<Row<'track'>> => {
    const [track] = await insertTracks(tx, [{ ...row, id: newId(), asset_id: assetId, status: 'preparing' }]);
    await recordTrackEvent(context, tx, environmentId, 'created', track!);
    return track!;
  };
  for (const stream of audio) {
    const { id } = await insert({
      type: 'audio',
      name: claimName(labelName(stream, 'Audio'), names.audio),
      language_code: languageOf(stream.language),
      stream_index: stream.streamIndex,
    });
    const { video: _video, text: _text, chapters: _chapters, ...file } = facts;
    await insertTrackMedia(tx, {
      track_id: id,
      source_asset_id: assetId,
      // Not a file of its own.
      source_track_id: assetId,
      facts: JSON.stringify({ ...file, audio: [stream] }),
    });
    await context.queue.enqueue(queues.ingestTrack, { trackId: id }, {}, tx);
  }
  for (const stream of text)
    await insert({
      type: 'text',
      name: claimName(textName(stream), names.text),
      language_code: languageOf(stream.language),
      stream_index: stream.streamIndex,
      text_type: 'subtitles',
      text_source: 'embedded',
      closed_captions: stream.isForHearingImpaired,
    });
  // One job reads all of them, in one pass through the file.
  if (text.length > 0) await context.queue.enqueue(queues.readEmbeddedText, { assetId }, {}, tx);
};

const textName = (stream: TextFacts): string => {
  const name = labelName(stream, 'Subtitles');
  return stream.isForced && stream.title === undefined ? `${name} (forced)` : name;
};
