import type { Config } from '../../config/options.js';
import { readLocalToken } from '../../domain/access/local-token.js';

/** `KINORA_TOKEN`, or the token of the first start; undefined when there is neither. */
export const findToken = async (config: Config): Promise<string | undefined> =>
  config.token ?? (await readLocalToken(config.dataDir));
