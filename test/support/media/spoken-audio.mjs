// Audio that speech detection takes for speech: vowels in the rhythm of syllables, at chosen
// places, silence elsewhere.

const RATE = 16_000;
const SYLLABLE_SECONDS = 0.2;
/** Formants of a and i in Hz, and their widths: between these two the mouth moves most. */
const VOWELS = [
  [730, 1090, 2440],
  [270, 2290, 3010],
];
const WIDTHS = [80, 90, 120];

const numbers = (seed) => {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
};

/** Detection finds the whole of it as one piece. */
const SEED = 11;

const speak = (seconds) => {
  const random = numbers(SEED);
  const memory = WIDTHS.map(() => [0, 0]);
  let formants = VOWELS[0];
  let wanted = formants;
  let pitch = 120;
  let phase = 0;
  let syllable = -1;
  const samples = Float32Array.from({ length: Math.round(seconds * RATE) }, (_, i) => {
    const time = i / RATE;
    if (Math.floor(time / SYLLABLE_SECONDS) !== syllable) {
      syllable = Math.floor(time / SYLLABLE_SECONDS);
      wanted = VOWELS[Math.floor(random() * VOWELS.length)];
      pitch = 100 + random() * 60;
    }
    formants = formants.map((value, at) => value + (wanted[at] - value) * 0.002);
    phase += (pitch * (1 + 0.03 * Math.sin(time * 10 * Math.PI))) / RATE;
    const pulse = phase >= 1 ? 1 : 0;
    phase -= pulse;
    const voice = formants.reduce(
      (input, formant, at) => {
        const radius = Math.exp((-Math.PI * WIDTHS[at]) / RATE);
        const [a, b] = [2 * radius * Math.cos((2 * Math.PI * formant) / RATE), -radius * radius];
        const [last, before] = memory[at];
        const output = (1 - a - b) * input + a * last + b * before;
        memory[at] = [output, last];
        return output;
      },
      pulse + (random() - 0.5) * 0.01,
    );
    const within = (time % SYLLABLE_SECONDS) / SYLLABLE_SECONDS;
    return voice * Math.min(1, within / 0.15) * Math.min(1, (1 - within) / 0.3);
  });
  const peak = samples.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return samples.map((value) => (value / peak) * 0.5);
};

/** A WAV file, 16 kHz, mono. */
export const makeSpeech = (seconds, spoken) => {
  const data = Buffer.alloc(Math.round(seconds * RATE) * 2);
  for (const { startSeconds, endSeconds } of spoken) {
    const at = Math.round(startSeconds * RATE);
    speak(endSeconds - startSeconds).forEach((value, i) => {
      data.writeInt16LE(Math.round(value * 32_767), (at + i) * 2);
    });
  }
  return waveFile(data);
};

/** A WAV file of 16-bit samples, 16 kHz, mono. */
export const waveFile = (data) => {
  const dataBytes = data.length;
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + dataBytes, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(RATE, 24);
  header.writeUInt32LE(RATE * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36);
  header.writeUInt32LE(dataBytes, 40);
  return Buffer.concat([header, data]);
};
