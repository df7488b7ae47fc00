import { existsSync, readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import type { NewDrmConfiguration } from '../../domain/drm/configurations.js';
import {
  type DrmSettings,
  type LicensedSystem,
  licensedSystems,
  type ServiceSettings,
  type StaticKey,
} from '../../domain/drm/settings.js';
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

type Flag = keyof typeof drmFlags;
type Given = Readonly<Partial<Record<Flag, readonly string[]>>>;

/**
 * Flags override the file; a file keeps secrets out of the process list.
 * @throws KinoraError `config_invalid`
 */
export const readDrmFlags = (flags: Flags): NewDrmConfiguration => {
  const fromFlags = Object.entries(flags).map(([flag, value]) => [flag, [String(value)]]);
  const given: Given = { ...readFile(flags['--settings']), ...Object.fromEntries(fromFlags) };
  const keySource = (['local', 'static', 'cpix'] as const).find((name) => name === one(given, '--key-source'));
  if (!keySource) throw usageError('--key-source must be one of local, static, cpix.');
  const environmentId = one(given, '--environment');
  const keys = readKeys(given);
  const cpix = readService(given, '--cpix-url', '--cpix-header');
  if ((keySource === 'static') !== (keys !== undefined)) {
    throw usageError('--key is required for, and only allowed with, the key source static.');
  }
  if ((keySource === 'cpix') !== (cpix !== undefined)) {
    throw usageError('--cpix-url is required for, and only allowed with, the key source cpix.');
  }
  const licenses = readLicenses(given);
  const certificate = readCertificate(given);
  const isClearKeyUsual = keySource === 'local' || (keySource === 'static' && Object.keys(licenses).length === 0);
  return {
    name: required(given, '--name'),
    keySource,
    ...(environmentId !== undefined && { environmentId }),
    settings: {
      clearKey: readBoolean(given, '--clear-key') ?? isClearKeyUsual,
      licenses,
      allowPrivate: readNetworks(given),
      ...(certificate && { fairplayCertificate: certificate }),
      ...(keys && { keys }),
      ...(cpix && { cpix }),
    },
  };
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
    if (!Object.hasOwn(drmFlags, `--${name}`) || name === 'settings') throw usageError(`--settings: unknown ${name}.`);
    if (!texts.every((text) => typeof text === 'string')) throw usageError(`--settings: ${name} must be a string.`);
    return [`--${name}`, texts];
  });
  return Object.fromEntries(entries);
};

const one = (given: Given, flag: Flag): string | undefined => given[flag]?.at(-1);

const required = (given: Given, flag: Flag): string => {
  const value = one(given, flag);
  if (!value) throw usageError(`${flag} is required.`);
  return value;
};

const readBoolean = (given: Given, flag: Flag): boolean | undefined => {
  const text = one(given, flag);
  if (text !== undefined && text !== 'true' && text !== 'false') throw usageError(`${flag} must be true or false.`);
  return text === undefined ? undefined : text === 'true';
};

const readUrl = (text: string, flag: Flag): string => {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw usageError(`${flag} must be an http or https URL.`);
};

const readHeaders = (given: Given, flag: Flag): Record<string, string> =>
  Object.fromEntries(
    (given[flag] ?? []).map((line) => {
      const [, name, value] = /^([A-Za-z0-9!#$%&'*+.^_`|~-]+): *([ -~]*)$/.exec(line) ?? [];
      if (name === undefined || value === undefined) throw usageError(`${flag} must be of the form "Name: value".`);
      return [name.toLowerCase(), value];
    }),
  );

const readService = (given: Given, urlFlag: Flag, headerFlag: Flag): ServiceSettings | undefined => {
  const url = one(given, urlFlag);
  return url === undefined ? undefined : { url: readUrl(url, urlFlag), headers: readHeaders(given, headerFlag) };
};

const readLicenses = (given: Given): DrmSettings['licenses'] => {
  const services = licensedSystems.map((system): [LicensedSystem, ServiceSettings | undefined] => [
    system,
    readService(given, `--${system}-url`, '--license-header'),
  ]);
  return Object.fromEntries(services.filter(([, service]) => service !== undefined));
};

const readCertificate = (given: Given): DrmSettings['fairplayCertificate'] => {
  const place = one(given, '--fairplay-certificate');
  if (place === undefined) return undefined;
  if (existsSync(place)) {
    const bytes = statSync(place).isFile() ? readFileSync(place) : Buffer.alloc(0);
    if (bytes.length === 0) throw usageError(`--fairplay-certificate: ${place} is not a file, or is empty.`);
    return { base64: bytes.toString('base64') };
  }
  return { url: readUrl(place, '--fairplay-certificate'), headers: readHeaders(given, '--license-header') };
};

const readKey = (text: string, flag: Flag): StaticKey => {
  const [, kid, key, iv] = /^([0-9a-f]{32}):([0-9a-f]{32})(?::([0-9a-f]{32}))?$/.exec(text.toLowerCase()) ?? [];
  if (kid && key) return { kid, key, ...(iv && { iv }) };
  throw usageError(`${flag} must be <key id>:<key> or <key id>:<key>:<iv>, 32 hexadecimal digits each.`);
};

const readKeys = (given: Given): DrmSettings['keys'] => {
  const [video, audio] = (['--key', '--audio-key'] as const).map((flag) => {
    const text = one(given, flag);
    return text === undefined ? undefined : readKey(text, flag);
  });
  if (audio && !video) throw usageError('--audio-key needs --key.');
  // Players find a key by its ID alone.
  if (audio && audio.kid === video?.kid && audio.key !== video.key) {
    throw usageError('--audio-key needs its own key ID, because its key differs from that of --key.');
  }
  return video && { video, audio: audio ?? video };
};

const readNetworks = (given: Given): boolean | readonly string[] => {
  const text = one(given, '--allow-private') ?? 'false';
  if (text === 'true' || text === 'false') return text === 'true';
  const networks = text.split(',').map((network) => network.trim());
  const isNetwork = (network: string): boolean => {
    const [address = '', prefix = '0', ...more] = network.split('/');
    return (
      isIP(address) > 0 &&
      more.length === 0 &&
      /^\d+$/.test(prefix) &&
      Number(prefix) <= (isIP(address) === 6 ? 128 : 32)
    );
  };
  if (networks.every(isNetwork)) return networks;
  throw usageError('--allow-private must be true, false or comma-separated CIDR blocks.');
};
