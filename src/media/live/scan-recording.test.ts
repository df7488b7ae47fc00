import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { concat } from '../mp4/box-writer.js';
import { writeFragment } from '../mp4/cmaf.js';
import {
  findPartIndex,
  PART_HEAD_BYTES,
  type PartRecord,
  presentationEnd,
  RECORDS_START,
  type RecordingFact,
  writeFact,
  writePartHead,
  writeRecordingStart,
  writeRecordsEnd,
} from './recording-format.js';
import { scanRecording } from './scan-recording.js';

type Entry = { readonly fact: RecordingFact } | { readonly part: PartRecord; readonly fragment: Uint8Array };

const seconds = fc.nat(2 ** 40);
const parts = fc
  .record({
    track: fc.constantFrom('video' as const, 'audio' as const),
    segment: fc.nat(2 ** 31),
    part: fc.nat(40),
    startTicks: seconds,
    durationTicks: fc.nat(2 ** 31),
    config: fc.nat(9),
    starts: fc.constantFrom(
      { independent: true, open: false },
      { independent: false, open: true },
      {
        independent: false,
        open: false,
      },
    ),
    discontinuity: fc.boolean(),
    wallMs: seconds,
    sizes: fc.array(fc.nat(300), { minLength: 1, maxLength: 5 }),
  })
  .map(({ sizes, starts, ...times }): Entry => {
    const samples = sizes.map((sizeBytes) => ({
      durationTicks: 3000,
      compositionOffsetTicks: 0,
      sizeBytes,
      sync: true,
    }));
    const data = sizes.map((size) => new Uint8Array(size).fill(0x66));
    const fragment = writeFragment({ sequence: 1, baseDecodeTicks: times.startTicks, samples, data });
    return { part: { ...times, ...starts }, fragment };
  });
const facts = fc
  .oneof(
    fc.record({ type: fc.constant('target' as const), targetSeconds: fc.nat(10) }),
    fc.record({
      type: fc.constant('video-config' as const),
      config: fc.nat(9),
      codec: fc.constantFrom('avc' as const, 'hevc' as const, 'av1' as const),
      // Longer than one read of the scan.
      record: fc.string({ maxLength: 20 }).map((text) => text.repeat(200)),
      reorderTicks: fc.nat(9000),
    }),
  )
  .map((fact): Entry => ({ fact }));
const entries = fc.array(fc.oneof({ arbitrary: parts, weight: 3 }, facts), { maxLength: 8 });

const writeEntry = (entry: Entry): Uint8Array =>
  'fact' in entry ? writeFact(entry.fact) : concat([writePartHead(entry.part, entry.fragment.length), entry.fragment]);

/** Scans and returns what was visited. */
const scan = async (file: Uint8Array) => {
  const visited: (RecordingFact | PartRecord)[] = [];
  const fragments: Uint8Array[] = [];
  const end = await scanRecording(async (offset, length) => file.subarray(offset, offset + length), file.length, {
    fact: (fact) => {
      visited.push(fact);
    },
    part: (part, offset, sizeBytes) => {
      visited.push(part);
      fragments.push(file.subarray(offset + PART_HEAD_BYTES, offset + sizeBytes));
    },
  });
  return { visited, fragments, end };
};
const contentOf = (entry: Entry): RecordingFact | PartRecord => ('fact' in entry ? entry.fact : entry.part);

describe('a recording', () => {
  test('is read back as it was written', async () => {
    await fc.assert(
      fc.asyncProperty(entries, async (list) => {
        const file = concat([writeRecordingStart(), ...list.map(writeEntry)]);
        const { visited, fragments, end } = await scan(file);
        expect(visited).toEqual(list.map(contentOf));
        expect(fragments).toEqual(list.flatMap((entry) => ('part' in entry ? [entry.fragment] : [])));
        expect(end).toBe(file.length);
        // What is behind the records is not read, and the size in the header does not matter.
        const { offset, bytes } = writeRecordsEnd(file.length);
        const finished = concat([file, new TextEncoder().encode('\0\0\0\x08moov')]);
        finished.set(bytes, offset);
        expect(await scan(finished)).toMatchObject({ visited: list.map(contentOf), end: file.length });
      }),
      { numRuns: 80 },
    );
  });

  test('that was cut at any byte has every whole record', async () => {
    await fc.assert(
      fc.asyncProperty(entries, async (list) => {
        const records = list.map(writeEntry);
        const file = concat([writeRecordingStart(), ...records]);
        const ends = records.map((_, index) => RECORDS_START + concat(records.slice(0, index + 1)).length);
        for (let length = 0; length <= file.length; length += length < 300 ? 1 : 13) {
          const whole = ends.filter((end) => end <= length).length;
          const { visited, end } = await scan(file.subarray(0, length));
          expect(visited).toHaveLength(whole);
          expect(end).toBe(length < RECORDS_START ? 0 : (ends[whole - 1] ?? RECORDS_START));
        }
      }),
      { numRuns: 15 },
    );
  });

  test('with a damaged record ends before it, and no damage is an error', async () => {
    await fc.assert(
      fc.asyncProperty(entries, fc.nat(), fc.nat(255), async (list, at, value) => {
        const file = concat([writeRecordingStart(), ...list.map(writeEntry)]);
        file[at % file.length] = value;
        const { end, visited } = await scan(file);
        expect(end).toBeLessThanOrEqual(file.length);
        expect(visited.length).toBeLessThanOrEqual(list.length);
      }),
      { numRuns: 80 },
    );
  });
});

test('other files are no recordings', async () => {
  const start = writeRecordingStart();
  for (const file of [new Uint8Array(), start.subarray(1), new Uint8Array(1000)])
    expect(await scan(file)).toEqual({ visited: [], fragments: [], end: 0 });
});

test('the end of a part is that of its last shown frame', () => {
  // In the order of decoding: 0, 3, 1, 2.
  const offsets = [3000, 9000, 0, 0];
  const samples = offsets.map((compositionOffsetTicks) => ({
    durationTicks: 3000,
    compositionOffsetTicks,
    sizeBytes: 1,
    sync: false,
  }));
  const data = [new Uint8Array(4)];
  const fragment = writeFragment({ sequence: 1, baseDecodeTicks: 90_000, samples, data });
  expect(presentationEnd(fragment, 90_000, 3000)).toBe(90_000 + 4 * 3000);
  for (let length = 8; length < fragment.length - 8; length += 1) {
    const found = findPartIndex(fragment.subarray(0, length));
    if (found) expect(found.samplesAt).toBe(fragment.length - 4);
  }
});
