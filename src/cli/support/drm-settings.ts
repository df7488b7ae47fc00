import { existsSync, readFileSync, statSync } from 'node:fs';
import type { NewDrmConfiguration } from '../../domain/drm/configurations.js';
import { type DrmField, drmFields, readDrmConfiguration } from '../../domain/drm/read-configuration.js';
import { type Flags, usageError } from './command.js';

/** The flags of `drm create`. */
export const drmFlags = {
  '--name': 'name of the configuration; required',
  '--key-source': 'local (random keys), static (given keys) or cpix (a key service that speaks SPEKE 2.0); required',
  '--environment': 'environment ID; the default environment if absent',
  '--key': 'static: <key id>:<key> or <key id>:<key>:<iv>, 32 hexadecimal digits each; for all tracks',
  '--audio-key': 'static: key of audio tracks if different, like --key',
  '--cpix-url': 'cpix: URL of the key service',
  '--cpix-header': 'cpix: header of requests to it, as "Name: value"',
  '--widevine-url': 'URL of the Widevine license server',
  '--playready-url': 'URL of the PlayReady license server',
  '--fairplay-url': 'URL of the FairPlay license server',
  '--fairplay-certificate': 'file or URL of the FairPlay certificate',
  '--license-header': 'header of requests to license servers, as "Name: value"',
  '--allow-private': 'true, or comma-separated CIDR blocks: private addresses that these services may have',
  '--clear-key': 'true or false: issue ClearKey licenses; true by default without license servers',
  '--settings': 'JSON file with these flags, such as {"cpix-url": "…"}; headers can be lists',
} as const;

type Given = Readonly<Partial<Record<DrmField, readonly string[]>>>;

/**
 * Flags override the file; a file keeps secrets out of the process list.
 * @throws KinoraError `config_invalid`
 */
export const readDrmFlags = (flags: Flags): NewDrmConfiguration => {
  const fromFlags = Object.entries(flags).map(([flag, value]) => [flag.slice(2), [String(value)]]);
  const fields: Given = { ...readFile(flags['--settings']), ...Object.fromEntries(fromFlags) };
  return readDrmConfiguration({
    fields,
    certificate: readCertificateFile(fields['fairplay-certificate']?.at(-1)),
    nameOf: (field) => `--${field}`,
    reject: usageError,
  });
};

const readFile = (path: string | true | undefined): Given => {
  if (typeof path !== 'string') return {};
  let values: unknown;
  try {
    values = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    // Not the message of a syntax error, because that repeats the text.
    const reason = error instanceof SyntaxError ? 'it is not JSON' : String((error as NodeJS.ErrnoException).code);
    throw usageError(`--settings: ${path} cannot be read (${reason}).`);
  }
  const entries = Object.entries(values ?? {}).map(([name, value]): [string, string[]] => {
    const texts = [value].flat();
    if (!drmFields.some((field) => field === name)) throw usageError(`--settings: unknown ${name}.`);
    if (!texts.every((text) => typeof text === 'string')) throw usageError(`--settings: ${name} must be a string.`);
    return [name, texts];
  });
  return Object.fromEntries(entries);
};

/** Undefined for a URL. */
const readCertificateFile = (path: string | undefined): Buffer | undefined => {
  if (path === undefined || !existsSync(path)) return undefined;
  const bytes = statSync(path).isFile() ? readFileSync(path) : Buffer.alloc(0);
  if (bytes.length === 0) throw usageError(`--fairplay-certificate: ${path} is not a file, or is empty.`);
  return bytes;
};
