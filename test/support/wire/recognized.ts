import { until } from '../servers/server-process.js';
import { createAsset, getAsset, settled, type WireAsset } from './create-asset.js';
import { eventsOf } from './events.js';

interface Server {
  readonly url: string;
  readonly token: { readonly id: string; readonly secret: string };
}

export const textsOf = (asset: WireAsset) => asset.tracks!.filter(({ type }) => type === 'text');

/** The asset once the recognition of all its tracks has ended. */
export const recognized = async (server: Server, id: string): Promise<WireAsset> => {
  let asset = await settled(server, id);
  await until('recognition has ended', async () => {
    asset = await getAsset(server, id);
    return textsOf(asset).every(({ status }) => status !== 'preparing');
  });
  return asset;
};

export const createRecognized = async (
  server: Server,
  url: string,
  subtitles: readonly object[],
): Promise<WireAsset> => {
  const inputs = [{ url, generated_subtitles: subtitles }];
  return recognized(server, (await createAsset(server, { inputs, playback_policies: ['public'] })).id);
};

/** What receivers of webhooks are told about the failure of the only text track. */
export const errorOf = async (server: Server, asset: WireAsset): Promise<unknown> => {
  const [track] = textsOf(asset);
  const last = (await eventsOf(server, track!.id as string)).at(-1)!;
  if (last.type !== 'video.asset.track.errored') throw new Error(`the last event is ${last.type}`);
  return last.data.error;
};

/** A text track as viewers get it. */
export const textOf = async (
  server: Server,
  asset: WireAsset,
  track: Record<string, unknown>,
  ending = 'vtt',
): Promise<string> => {
  const response = await fetch(`${server.url}/${asset.playback_ids![0]!.id}/text/${track.id}.${ending}`);
  if (response.status !== 200) throw new Error(`HTTP status ${response.status}`);
  return response.text();
};
