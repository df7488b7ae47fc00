import type { Config } from '../config/options.js';

/** The hosts, for viewers, of the pages of this server: the player page and the console. */
export const ownHostsOf = ({ publicUrl, streamUrl }: Config): string[] =>
  [publicUrl, streamUrl].flatMap((url) => (url === undefined ? [] : new URL(url).host));
