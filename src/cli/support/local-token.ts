import type { Config } from '../../config/options.js';
import { readLocalToken } from '../../domain/access/local-token.js';

/** `KINORA_TOKEN`, else the token that the first start left; undefined when there is neither. */
export const findToken = async (config: Config): Promise<string | undefined> =>
  config.token ?? (await readLocalToken(config.dataDir));
