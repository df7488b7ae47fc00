import { median, ratio, spread, table } from './support/figures.mjs';
import { startKinora } from './support/kinora.mjs';
import { audioTrack, caption, movie, watermark } from './support/media.mjs';
import { startOrigin } from './support/origin.mjs';

export const title = 'what each feature adds to the time from POST to ready';
export const needs = ['ffmpeg'];

const REPETITIONS = 3;
const MOVIE_SECONDS = 60;

const features = ({ image, text, audio }) => ({
  'quality plus': { video_quality: 'plus' },
  'quality premium': { video_quality: 'premium' },
  'an overlay': { further: [{ url: image, overlay_settings: { vertical_align: 'bottom', width: '20%' } }] },
  normalize_audio: { normalize_audio: true },
  'a text track': { further: [{ url: text, type: 'text', text_type: 'subtitles', language_code: 'en' }] },
  'a second audio track': { further: [{ url: audio, type: 'audio', language_code: 'fr' }] },
  static_renditions: { static_renditions: [{ resolution: 'highest' }] },
  master_access: { master_access: 'temporary' },
  generate_shots: { generate_shots: true },
});

/** Milliseconds from POST to ready. */
const measure = async (server, url, { further = [], ...fields } = {}) => {
  const asset = await server.createAsset(url, { inputs: [{ url }, ...further], ...fields });
  await server.api('DELETE', `/assets/${asset.id}`);
  await server.idle();
  return asset.readyMs - asset.postedMs;
};

export const run = async () => {
  const server = await startKinora();
  const paths = { image: watermark(), text: caption(), audio: audioTrack(MOVIE_SECONDS) };
  const origins = {};
  for (const [name, path] of Object.entries(paths)) origins[name] = await startOrigin(await path);
  const source = await startOrigin(await movie(MOVIE_SECONDS));
  const rows = [[`one minute, 1080p`, 'ready, ms', 'with / without', 'added, ms']];
  const skipped = [];
  try {
    const plain = await measure(server, source.url);
    console.log(`The first asset of the server, without features: ${plain.toFixed(0)} ms\n`);
    const urls = Object.fromEntries(Object.entries(origins).map(([name, { url }]) => [name, url]));
    for (const [name, fields] of Object.entries(features(urls))) {
      const [without, having] = [[], []];
      try {
        for (let i = 0; i < REPETITIONS; i++) {
          having.push(await measure(server, source.url, fields));
          without.push(await measure(server, source.url));
        }
      } catch (error) {
        if (!/: 400 .*not yet supported/.test(error.message)) throw error;
        skipped.push(`SKIPPED: ${name}: ${error.message}`);
        continue;
      }
      const added = median(having) - median(without);
      rows.push([name, spread(having), `x ${ratio(having, without)}`, `${added < 0 ? '' : '+'}${added.toFixed(0)}`]);
    }
  } finally {
    for (const origin of [source, ...Object.values(origins)]) origin.stop();
    await server.stop();
  }
  table(rows);
  for (const line of skipped) console.log(`\n${line}`);
};
