import { writeFileSync } from 'node:fs';
import type { SpeechAudioJob } from '../../pool/protocol.js';
import { readSpeech, SPEECH_RATE } from './speech-reader.js';

const HEADER_BYTES = 44;
const BYTES_PER_SAMPLE = 2;

/** @throws KinoraError `media_failed` */
export const writeSpeechAudio = (job: SpeechAudioJob): { sizeBytes: number } => {
  const samples = new Int16Array(Math.ceil((job.lengthMs * SPEECH_RATE) / 1000));
  for (const piece of job.pieces) {
    let at = Math.round((piece.atMs * SPEECH_RATE) / 1000);
    readSpeech(job, piece, (part) => {
      for (const value of part) {
        if (at < samples.length) samples[at] = Math.round(Math.max(-1, Math.min(1, value)) * 32_767);
        at += 1;
      }
    });
  }
  const data = Buffer.from(samples.buffer);
  writeFileSync(job.outPath, Buffer.concat([waveHeader(data.length), data]));
  return { sizeBytes: HEADER_BYTES + data.length };
};

const waveHeader = (dataBytes: number): Buffer => {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write('RIFF', 0);
  header.writeUInt32LE(HEADER_BYTES - 8 + dataBytes, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(SPEECH_RATE, 24);
  header.writeUInt32LE(SPEECH_RATE * BYTES_PER_SAMPLE, 28);
  header.writeUInt16LE(BYTES_PER_SAMPLE, 32);
  header.writeUInt16LE(8 * BYTES_PER_SAMPLE, 34);
  header.write('data', 36);
  header.writeUInt32LE(dataBytes, 40);
  return header;
};
