import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  clipTimes,
  isInClip,
  parseWindow,
  type ReadyPlayable,
  windowTimes,
  writeTextPlaylist,
} from '../../domain/playback/write-playlist.js';
import { rejection } from '../../domain/signing/verify-token.js';
import { isRecognized } from '../../domain/tracks/text-source.js';
import { KinoraError } from '../../lib/errors.js';
import { segmentSeconds } from '../../media/plan/segment-times.js';
import { clipText, type IndexedText, indexCues, textSegment, transcriptOf } from '../../media/text/text-index.js';
import type { TextTracks } from '../../packager/text-tracks.js';
import { allowKeepingPlaylist, immutableFor, type OpenedPlayback } from './playback-opener.js';
import { sendText } from './send-text.js';

const PLAYLIST = 'application/vnd.apple.mpegurl';
const WEBVTT = 'text/vtt; charset=utf-8';
const PLAIN_TEXT = 'text/plain; charset=utf-8';

/** @throws KinoraError `not_found` when the asset has no such ready track */
const findReadyText = async (
  texts: TextTracks,
  { assetId, tracks }: ReadyPlayable,
  trackId: string,
): Promise<IndexedText> => {
  const track = tracks.find(({ id, type }) => id === trackId && type === 'text');
  const text = track && (await texts.find(assetId, trackId));
  if (text) return text;
  // What is recognized in a broadcast is stored at its end, unless the server is killed before.
  if (track?.text_source === 'generated_live') return indexCues([]);
  throw new KinoraError('not_found');
};

const cutText = (text: IndexedText, times: ReturnType<typeof windowTimes>): IndexedText =>
  times ? clipText(text, times.startSeconds, times.endSeconds) : text;

/**
 * `<track>.vtt`: the whole text, or that of an instant clip, whose times count from its start.
 * `<track>.txt`: the transcript of recognized speech.
 */
export const sendTextFile = async (
  request: FastifyRequest,
  reply: FastifyReply,
  texts: TextTracks,
  { playable, access }: OpenedPlayback,
  file: string,
): Promise<FastifyReply> => {
  const [, trackId = '', ending] = /^([A-Za-z0-9]+)\.(vtt|txt)$/.exec(file) ?? [];
  const text = await findReadyText(texts, playable, trackId);
  const isTranscript = ending === 'txt';
  const source = playable.tracks.find(({ id }) => id === trackId)?.text_source ?? null;
  if (isTranscript && !isRecognized(source)) throw new KinoraError('not_found');
  const times = clipTimes(playable, access);
  reply.header('cache-control', immutableFor({ playable, access }));
  const shown = cutText(text, times);
  if (isTranscript) return sendText(request, reply, PLAIN_TEXT, Buffer.from(transcriptOf(shown)));
  return sendText(request, reply, WEBVTT, shown.bytes);
};

/**
 * The playlist of the subtitle rendition of a track, and its segments `<number>.vtt`, cut like
 * those of the media; or all of it as `text.vtt`, whose times begin with those segments.
 */
export const sendTextRendition = async (
  request: FastifyRequest,
  reply: FastifyReply,
  texts: TextTracks,
  { playable, access }: OpenedPlayback,
  { trackId, file, clip }: { readonly trackId: string; readonly file: string; readonly clip: string | undefined },
): Promise<FastifyReply> => {
  const text = await findReadyText(texts, playable, trackId);
  if (file === 'playlist.m3u8') {
    allowKeepingPlaylist(reply, { playable, access });
    return sendText(request, reply, PLAYLIST, writeTextPlaylist(playable.plan, access, trackId, clip));
  }
  if (file === 'text.vtt') {
    const shown = windowTimes(playable.plan, parseWindow(clip));
    reply.header('cache-control', immutableFor({ playable, access }));
    return sendText(request, reply, WEBVTT, cutText(text, shown).bytes);
  }
  const number = /^(0|[1-9]\d{0,6})\.vtt$/.exec(file)?.[1];
  const times = number === undefined ? undefined : segmentSeconds(playable.plan, Number(number));
  if (!times) throw new KinoraError('not_found');
  if (access.signed && !isInClip(file, clip)) throw rejection('Token signature is invalid');
  reply.header('cache-control', immutableFor({ playable, access }));
  return sendText(request, reply, WEBVTT, textSegment(text, times.startSeconds, times.endSeconds));
};
