import { isIP } from 'node:net';
import type { NewDrmConfiguration } from './configurations.js';
import {
  type DrmSettings,
  type LicensedSystem,
  licensedSystems,
  type ServiceSettings,
  type StaticKey,
} from './settings.js';

/**
 * What an operator says about a configuration: flags of the command line, fields of the console.
 */
export const drmFields = [
  'name',
  'key-source',
  'environment',
  'key',
  'audio-key',
  'cpix-url',
  'cpix-header',
  'widevine-url',
  'playready-url',
  'fairplay-url',
  'fairplay-certificate',
  'license-header',
  'allow-private',
  'clear-key',
] as const;
export type DrmField = (typeof drmFields)[number];

/** Texts as they were entered, and how to say what is wrong with them. */
export interface DrmInput {
  readonly fields: Readonly<Partial<Record<DrmField, readonly string[]>>>;
  /** The FairPlay certificate, when its bytes were given and not its URL. */
  readonly certificate?: Buffer | undefined;
  /** What the operator calls a field, such as `--key-source`. */
  readonly nameOf: (field: DrmField) => string;
  /** Makes the error that is thrown. */
  readonly reject: (message: string) => Error;
}

/** @throws the error of `reject` */
export const readDrmConfiguration = (input: DrmInput): NewDrmConfiguration => {
  const { nameOf, reject, certificate } = input;
  const keySource = (['local', 'static', 'cpix'] as const).find((name) => name === one(input, 'key-source'));
  if (!keySource) throw reject(`${nameOf('key-source')} must be one of local, static, cpix.`);
  const environmentId = one(input, 'environment');
  const keys = readKeys(input);
  const cpix = readService(input, 'cpix-url', 'cpix-header');
  if ((keySource === 'static') !== (keys !== undefined)) {
    throw reject(`${nameOf('key')} is required for, and only allowed with, the key source static.`);
  }
  if ((keySource === 'cpix') !== (cpix !== undefined)) {
    throw reject(`${nameOf('cpix-url')} is required for, and only allowed with, the key source cpix.`);
  }
  const licenses = readLicenses(input);
  const fairplayCertificate = certificate
    ? { base64: certificate.toString('base64') }
    : readService(input, 'fairplay-certificate', 'license-header');
  const isClearKeyUsual = keySource === 'local' || (keySource === 'static' && Object.keys(licenses).length === 0);
  const name = one(input, 'name');
  if (!name) throw reject(`${nameOf('name')} is required.`);
  return {
    name,
    keySource,
    environmentId,
    settings: {
      clearKey: readBoolean(input, 'clear-key') ?? isClearKeyUsual,
      licenses,
      allowPrivate: readNetworks(input),
      fairplayCertificate,
      keys,
      cpix,
    },
  };
};

const one = ({ fields }: DrmInput, field: DrmField): string | undefined => fields[field]?.at(-1);

const readBoolean = (input: DrmInput, field: DrmField): boolean | undefined => {
  const text = one(input, field);
  if (text !== undefined && text !== 'true' && text !== 'false')
    throw input.reject(`${input.nameOf(field)} must be true or false.`);
  return text === undefined ? undefined : text === 'true';
};

const readUrl = ({ nameOf, reject }: DrmInput, text: string, field: DrmField): string => {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw reject(`${nameOf(field)} must be an http or https URL.`);
};

const readHeaders = ({ fields, nameOf, reject }: DrmInput, field: DrmField): Record<string, string> =>
  Object.fromEntries(
    (fields[field] ?? []).map((line) => {
      const [, header, value] = /^([A-Za-z0-9!#$%&'*+.^_`|~-]+): *([ -~]*)$/.exec(line) ?? [];
      if (header === undefined || value === undefined)
        throw reject(`${nameOf(field)} must be of the form "Name: value".`);
      return [header.toLowerCase(), value];
    }),
  );

const readService = (input: DrmInput, urlField: DrmField, headerField: DrmField): ServiceSettings | undefined => {
  const url = one(input, urlField);
  return url === undefined
    ? undefined
    : { url: readUrl(input, url, urlField), headers: readHeaders(input, headerField) };
};

const readLicenses = (input: DrmInput): DrmSettings['licenses'] => {
  const services = licensedSystems.map((system): [LicensedSystem, ServiceSettings | undefined] => [
    system,
    readService(input, `${system}-url`, 'license-header'),
  ]);
  return Object.fromEntries(services.filter(([, service]) => service !== undefined));
};

const readKey = ({ nameOf, reject }: DrmInput, text: string, field: DrmField): StaticKey => {
  const [, kid, key, iv] = /^([0-9a-f]{32}):([0-9a-f]{32})(?::([0-9a-f]{32}))?$/.exec(text.toLowerCase()) ?? [];
  if (kid && key) return { kid, key, iv };
  throw reject(`${nameOf(field)} must be <key id>:<key> or <key id>:<key>:<iv>, 32 hexadecimal digits each.`);
};

const readKeys = (input: DrmInput): DrmSettings['keys'] => {
  const [video, audio] = (['key', 'audio-key'] as const).map((field) => {
    const text = one(input, field);
    return text === undefined ? undefined : readKey(input, text, field);
  });
  const { nameOf, reject } = input;
  if (audio && !video) throw reject(`${nameOf('audio-key')} needs ${nameOf('key')}.`);
  // Players find a key by its ID alone.
  if (audio && audio.kid === video?.kid && audio.key !== video.key) {
    throw reject(`${nameOf('audio-key')} needs its own key ID, because its key differs from that of ${nameOf('key')}.`);
  }
  return video && { video, audio: audio ?? video };
};

const readNetworks = (input: DrmInput): boolean | readonly string[] => {
  const text = one(input, 'allow-private') ?? 'false';
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
  throw input.reject(`${input.nameOf('allow-private')} must be true, false or comma-separated CIDR blocks.`);
};
