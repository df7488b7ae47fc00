/** The reference for encryption: shaka-packager, and what its fragments and ours hold. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { asFullBox, findBox, listBoxes, viewOf } from '#kinora/media/mp4/box-reader.js';

const program = createRequire(import.meta.url).resolve('shaka-packager/index.js');

export interface RawKey {
  readonly kid: Uint8Array;
  readonly key: Uint8Array;
  readonly iv: Uint8Array;
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

const run = (folder: string, file: Uint8Array, stream: string, args: readonly string[]): Buffer => {
  const [input, output] = [join(folder, 'input.mp4'), join(folder, 'output.mp4')];
  writeFileSync(input, file);
  const streams = `in=${input},stream=0,output=${output}${stream}`;
  const { status, stderr } = spawnSync(process.execPath, [program, streams, ...args], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return readFileSync(output);
};

/** The encrypted form of a fragmented MP4 file with one track, scheme `cbcs`. */
export const packageEncrypted = (folder: string, clear: Uint8Array, { kid, key, iv }: RawKey): Buffer =>
  run(folder, clear, ',drm_label=K', [
    '--enable_raw_key_encryption',
    ...['--keys', `label=K:key_id=${hex(kid)}:key=${hex(key)}:iv=${hex(iv)}`],
    ...['--protection_scheme', 'cbcs', '--clear_lead', '0'],
  ]);

/** The clear form of such a file. */
export const packageDecrypted = (folder: string, encrypted: Uint8Array, { kid, key }: Omit<RawKey, 'iv'>): Buffer =>
  run(folder, encrypted, '', [
    '--enable_raw_key_decryption',
    ...['--keys', `label=K:key_id=${hex(kid)}:key=${hex(key)}`],
  ]);

export interface Samples {
  readonly data: Buffer;
  /**
   * Of each sample what `senc` says: clear and protected bytes in turn. Empty where there is no
   * `senc`.
   */
  readonly subsamples: readonly (readonly number[])[];
}

/** What the fragments of a file hold, whoever wrote them. */
export const readSamples = (file: Uint8Array): Samples => {
  const boxes = listBoxes(file)!;
  const view = viewOf(file);
  const data: Uint8Array[] = [];
  const subsamples: number[][] = [];
  for (const { type, content, end } of boxes) {
    if (type === 'mdat') data.push(file.subarray(content, end));
    if (type !== 'moof') continue;
    const senc = asFullBox(file, findBox(file, ['traf', 'senc'], content, end));
    // Without subsamples there is nothing in it.
    if (!senc || (senc.flags & 2) === 0) continue;
    let offset = senc.content + 4;
    for (let sample = 0; sample < view.getUint32(senc.content); sample++) {
      const count = view.getUint16(offset);
      const entry = Array.from({ length: count }, (_, index) => [
        view.getUint16(offset + 2 + 6 * index),
        view.getUint32(offset + 4 + 6 * index),
      ]);
      subsamples.push(entry.flat());
      offset += 2 + 6 * count;
    }
  }
  return { data: Buffer.concat(data), subsamples };
};
