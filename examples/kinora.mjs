// The official SDK, connected to a local Kinora.
import { existsSync, readFileSync } from 'node:fs';
import Mux from '@mux/mux-node';

// The server reads its settings from the same file. Variables that are set win.
if (existsSync('.env')) process.loadEnvFile('.env');
const { KINORA_URL, KINORA_PORT = '8080', KINORA_DATA_DIR = 'kinora-data', KINORA_TOKEN } = process.env;

/** Ends the program with a sentence instead of a stack. */
const exit = (text) => {
  console.error(text);
  process.exit(2);
};

/** The first argument of the program. */
export const argument = (usage) => process.argv[2] ?? exit(`Usage: ${usage}`);
/** A variable that the program needs. */
export const variable = (name, usage) => process.env[name] || exit(`Usage: ${usage}`);

const tokenFile = `${KINORA_DATA_DIR}/token`;
if (!KINORA_TOKEN && !existsSync(tokenFile))
  exit(`There is no ${tokenFile}. Start Kinora in this directory, or set KINORA_URL and KINORA_TOKEN.`);

export const baseURL = KINORA_URL || `http://127.0.0.1:${KINORA_PORT}`;
const token = KINORA_TOKEN || readFileSync(tokenFile, 'utf8').trim();
const [tokenId, tokenSecret] = token.split(':');

export const mux = new Mux({ tokenId, tokenSecret, baseURL });

/**
 * Resolves when the asset is ready. In production, wait for the webhook `video.asset.ready`
 * instead.
 */
export const whenReady = async (id) => {
  for (;;) {
    const asset = await mux.video.assets.retrieve(id);
    if (asset.status === 'ready') return asset;
    if (asset.status === 'errored') throw new Error(asset.errors.messages.join(' '));
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
};
