/**
 * Audio whose loudness is far from the target of `normalize_audio`, each in its own way; 16-bit
 * stereo WAV.
 */

const RATE = 48_000;
const SECONDS = 6;

/** The same numbers on every machine, -1 to 1. */
const noise = (): (() => number) => {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  };
};

/** Each maker gives a sample from its time in seconds and a noise value. */
const makers = {
  /** A mix at full scale, clipped now and then. */
  loud: (seconds: number, random: number): number =>
    1.2 * (0.5 * Math.sin(2 * Math.PI * 110 * seconds) + 0.3 * Math.sin(2 * Math.PI * 1230 * seconds) + 0.4 * random),
  /** Far away, with pauses. */
  quiet: (seconds: number, random: number): number => (seconds % 3 < 2 ? 0.004 * random : 0.0001 * random),
  /**
   * Noise at about -30 LUFS, and a click of 2 ms at full scale every second, each between two
   * samples at its highest.
   */
  peaky: (seconds: number, random: number): number =>
    (seconds + 0.5) % 1 < 0.002
      ? 1.4 * Math.sin(2 * Math.PI * 12_000 * seconds + Math.PI / 4)
      : 0.05 * random + 0.02 * Math.sin(2 * Math.PI * 300 * seconds),
} as const;
export type TestAudio = keyof typeof makers;

export const makeTestAudio = (name: TestAudio): Buffer => {
  const frames = RATE * SECONDS;
  const data = Buffer.alloc(frames * 4);
  const random = noise();
  for (let i = 0; i < frames; i++) {
    for (const channel of [0, 1]) {
      const value = Math.min(Math.max(makers[name](i / RATE, random()), -1), 1);
      data.writeInt16LE(Math.round(value * 32_767), i * 4 + channel * 2);
    }
  }
  const header = Buffer.alloc(44);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(36 + data.length, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(2, 22);
  header.writeUInt32LE(RATE, 24);
  header.writeUInt32LE(RATE * 4, 28);
  header.writeUInt16LE(4, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(data.length, 40);
  return Buffer.concat([header, data]);
};
