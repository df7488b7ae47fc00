// The official SDK, connected to a local Kinora.
import { readFileSync } from 'node:fs';
import Mux from '@mux/mux-node';

export const baseURL = process.env.KINORA_URL ?? 'http://127.0.0.1:8080';
const token = process.env.KINORA_TOKEN ?? readFileSync('kinora-data/token', 'utf8').trim();
const [tokenId, tokenSecret] = token.split(':');

export const mux = new Mux({ tokenId, tokenSecret, baseURL });

/** Resolves when the asset is ready. In production, wait for the webhook `video.asset.ready` instead. */
export const whenReady = async (id) => {
  for (;;) {
    const asset = await mux.video.assets.retrieve(id);
    if (asset.status === 'ready') return asset;
    if (asset.status === 'errored') throw new Error(asset.errors.messages.join(' '));
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
};
