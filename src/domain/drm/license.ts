import { invalidParameters, KinoraError } from '../../lib/errors.js';
import type { ServiceCaller } from '../../net/call-service.js';
import { type AssetKeys, withConfiguration } from './content-keys.js';
import { type LicensedSystem, licensedSystems, type ServiceSettings } from './settings.js';

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');

/**
 * The keys that a ClearKey request names, in the format of W3C Encrypted Media Extensions (9.1.4).
 * @throws KinoraError `not_found` when the configuration has no ClearKey; `invalid_parameters`
 */
export const clearKeyLicense = ({ settings, video, audio }: AssetKeys, body: Uint8Array): string => {
  if (!settings.clearKey) throw new KinoraError('not_found');
  const asked = readKids(body);
  const keys = [video, audio].filter(({ kid }) => asked.includes(base64url(kid)));
  if (keys.length === 0) throw invalidParameters('The license request names no key of this playback ID');
  const unique = new Map(
    keys.map(({ kid, key }) => [base64url(kid), { kty: 'oct', kid: base64url(kid), k: base64url(key) }]),
  );
  return JSON.stringify({ keys: [...unique.values()], type: 'temporary' });
};

const readKids = (body: Uint8Array): unknown[] => {
  try {
    const { kids } = JSON.parse(Buffer.from(body).toString('utf8')) as { kids?: unknown };
    if (Array.isArray(kids)) return kids;
  } catch {
    // Anything that is not a JSON object is rejected like an object without a list.
  }
  throw invalidParameters('The license request is invalid');
};

/** The key systems for which licenses are available. */
export const keySystemsOf = ({ settings }: AssetKeys): string[] => [
  ...licensedSystems.filter((system) => settings.licenses[system]),
  ...(settings.clearKey ? ['clearkey'] : []),
];

export const isLicensedSystem = (text: string): text is LicensedSystem =>
  (licensedSystems as readonly string[]).includes(text);

/** Headers of a challenge that its license server may need. */
export interface ChallengeHeaders {
  readonly contentType: string | undefined;
  readonly soapAction: string | undefined;
}

/**
 * The license of the configuration's server for a challenge.
 * @throws KinoraError `not_found` when it has no server for the key system; `upstream_refused`,
 * `unavailable`
 */
export const forwardChallenge = async (
  services: ServiceCaller,
  { settings, configurationId }: AssetKeys,
  system: LicensedSystem,
  challenge: Uint8Array,
  { contentType = 'application/octet-stream', soapAction }: ChallengeHeaders,
): Promise<Uint8Array> => {
  const service = settings.licenses[system];
  if (!service) throw new KinoraError('not_found');
  const headers = { 'content-type': contentType, ...(soapAction !== undefined && { soapaction: soapAction }) };
  return ask(services, service, { configurationId, settings, system }, { method: 'POST', headers, body: challenge });
};

/**
 * The FairPlay certificate.
 * @throws KinoraError `not_found`, `upstream_refused`, `unavailable`
 */
export const fairplayCertificate = async (
  services: ServiceCaller,
  { settings, configurationId }: AssetKeys,
): Promise<Uint8Array> => {
  const certificate = settings.fairplayCertificate;
  if (!certificate) throw new KinoraError('not_found');
  if ('base64' in certificate) return Buffer.from(certificate.base64, 'base64');
  return ask(services, certificate, { configurationId, settings, system: 'fairplay' }, { method: 'GET', headers: {} });
};

const ask = async (
  services: ServiceCaller,
  service: ServiceSettings,
  of: Pick<AssetKeys, 'configurationId' | 'settings'> & { readonly system: LicensedSystem },
  request: { method: 'GET' | 'POST'; headers: Record<string, string>; body?: Uint8Array },
): Promise<Uint8Array> => {
  try {
    const headers = { ...request.headers, ...service.headers };
    const response = await services.call({
      ...request,
      url: service.url,
      headers,
      allowPrivate: of.settings.allowPrivate,
    });
    if (response.status === 200 && response.body.length > 0) return response.body;
    const reason = response.status === 200 ? 'empty answer' : `status ${response.status}`;
    throw new KinoraError('upstream_refused', { details: { system: of.system, reason } });
  } catch (error) {
    throw withConfiguration(error, of.configurationId);
  }
};
