// Writes a model in the format of whisper.cpp that always "recognizes" the same words, or costs as
// much as a real one. Zero layers, so that the decoder sees nothing but its position; each position
// stands for the token that is wanted next.
import { closeSync, openSync, writeSync } from 'node:fs';

const VOCABULARY = 51_865;
const END = 50_257;
const START = 50_258;
const FIRST_TIMESTAMP = 50_364;
const AUDIO_CONTEXT = 1500;
const TEXT_CONTEXT = 448;
const MELS = 80;
const FFT = 201;
/** Positions of start, language and task come before the first token that is made. */
const PROMPT_LENGTH = 3;
const LANGUAGES = { en: 0, zh: 1, de: 2, es: 3, ru: 4, ko: 5, fr: 6 };
const F32 = 0;
const F16 = 1;

/** Half precision of 0, 1 and what lies between; enough for unit vectors. */
const toHalf = (value) => {
  if (value === 0) return 0;
  const [bits] = new Uint32Array(new Float32Array([value]).buffer);
  const exponent = ((bits >>> 23) & 0xff) - 127 + 15;
  if (exponent <= 0) return 0;
  return ((bits >>> 16) & 0x8000) | (exponent << 10) | ((bits >>> 13) & 0x3ff);
};

const int32 = (...values) => Buffer.from(new Int32Array(values).buffer);

/** Unit vectors that repeat for the same seed. */
const unitVectors = (count, length) => {
  let seed = 1;
  const next = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647 - 0.5;
  };
  return Array.from({ length: count }, () => {
    const vector = Float32Array.from({ length }, next);
    const size = Math.hypot(...vector);
    return vector.map((value) => value / size);
  });
};

/**
 * @param {string} path
 * @param {{ words?: readonly string[]; language?: keyof typeof LANGUAGES; state?: number; layers?:
 * number; seconds?: number }} options
 *   `words`: tokens as they stand in the text, with the blank before them. `state` and `layers` 512
 *   and 6 cost as much as "base".
 */
export const writeWhisperModel = (
  path,
  { words = [' plumbing', ' works'], language = 'en', state = 64, layers = 1, seconds = 3 } = {},
) => {
  const vocabulary = [' ', ...words];
  const wordTokens = words.map((_, at) => at + 1);
  const wanted = [
    START + 1 + LANGUAGES[language],
    END,
    FIRST_TIMESTAMP,
    ...wordTokens,
    FIRST_TIMESTAMP + Math.round(seconds / 0.02),
  ];
  const used = [...new Set([...wanted, END])];
  const vectors = new Map(unitVectors(used.length, state).map((vector, at) => [used[at], vector]));
  const file = openSync(path, 'w');
  const write = (bytes) => writeSync(file, bytes);
  const tensor = (name, type, dims, data) => {
    write(int32(dims.length, name.length, type, ...dims));
    write(Buffer.from(name));
    const bytes = dims.reduce((a, b) => a * b) * (type === F16 ? 2 : 4);
    write(data ? Buffer.from(data.buffer, data.byteOffset, bytes) : Buffer.alloc(bytes));
  };
  const vector = (name, length, value = 0) => tensor(name, F32, [length], new Float32Array(length).fill(value));
  const matrix = (name, ...dims) => tensor(name, F16, dims);
  const norm = (name, value = 1) => {
    vector(`${name}.weight`, state, value);
    vector(`${name}.bias`, state);
  };
  const attention = (name) => {
    for (const part of ['query', 'key', 'value', 'out']) {
      matrix(`${name}.${part}.weight`, state, state);
      if (part !== 'key') vector(`${name}.${part}.bias`, state);
    }
  };
  const block = (name, crossed) => {
    norm(`${name}.mlp_ln`);
    matrix(`${name}.mlp.0.weight`, state, 4 * state);
    vector(`${name}.mlp.0.bias`, 4 * state);
    matrix(`${name}.mlp.2.weight`, 4 * state, state);
    vector(`${name}.mlp.2.bias`, state);
    norm(`${name}.attn_ln`);
    attention(`${name}.attn`);
    if (!crossed) return;
    norm(`${name}.cross_attn_ln`);
    attention(`${name}.cross_attn`);
  };

  const heads = state / 64;
  write(Buffer.from('lmgg'));
  write(int32(VOCABULARY, AUDIO_CONTEXT, state, heads, layers, TEXT_CONTEXT, state, heads, layers, MELS, F16));
  write(int32(MELS, FFT));
  write(Buffer.alloc(MELS * FFT * 4));
  write(int32(vocabulary.length));
  for (const word of vocabulary) {
    const bytes = Buffer.from(word);
    write(int32(bytes.length));
    write(bytes);
  }

  tensor('encoder.positional_embedding', F32, [state, AUDIO_CONTEXT]);
  matrix('encoder.conv1.weight', 3, MELS, state);
  tensor('encoder.conv1.bias', F32, [1, state]);
  matrix('encoder.conv2.weight', 3, state, state);
  tensor('encoder.conv2.bias', F32, [1, state]);
  norm('encoder.ln_post');
  for (let layer = 0; layer < layers; layer++) block(`encoder.blocks.${layer}`, false);

  const positions = new Float32Array(state * TEXT_CONTEXT);
  for (let position = 0; position < TEXT_CONTEXT; position++) {
    const token = position === 0 ? wanted[0] : (wanted[position - PROMPT_LENGTH + 3] ?? END);
    positions.set(
      vectors.get(position > 0 && position < PROMPT_LENGTH - 1 ? END : token).map((value) => 50 * value),
      position * state,
    );
  }
  tensor('decoder.positional_embedding', F32, [state, TEXT_CONTEXT], positions);
  const embedding = new Uint16Array(state * VOCABULARY);
  for (const [token, values] of vectors) embedding.set(Uint16Array.from(values, toHalf), token * state);
  tensor('decoder.token_embedding.weight', F16, [state, VOCABULARY], embedding);
  norm('decoder.ln', 20);
  for (let layer = 0; layer < layers; layer++) block(`decoder.blocks.${layer}`, true);
  closeSync(file);
};
