import { parentPort, workerData } from 'node:worker_threads';
import { decodeText } from '../media/text/decode-text.js';
import { parseSubtitles } from '../media/text/subtitles.js';
import { type IndexedText, indexCues } from '../media/text/text-index.js';

/** The thread's result; null when the file has no cue. */
export type TextResponse = (IndexedText & { readonly format: 'srt' | 'webvtt' }) | null;

const parsed = parseSubtitles(decodeText(workerData as Uint8Array));
const response: TextResponse = parsed ? { ...indexCues(parsed.cues), format: parsed.format } : null;
parentPort!.postMessage(response);
