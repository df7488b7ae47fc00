/** Fields that let whoever knows them broadcast. */
const SECRETS = new Set(['stream_key', 'srt_passphrase']);

export const HIDDEN = '••••••••';

/** JSON to read on a screen, which others may see: without secrets. */
export const shownJson = (value: object): string =>
  JSON.stringify(value, (name, field: unknown) => (SECRETS.has(name) ? HIDDEN : field), 2);
