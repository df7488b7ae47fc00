import type { DrmConfiguration, DrmSettings, ServiceSettings } from './settings.js';

/** A DRM configuration without its secrets, in API form. */
export interface PublicDrmConfiguration {
  readonly id: string;
  readonly name: string;
  readonly key_source: string;
  readonly environment_id: string;
  readonly created_at: string;
  readonly clear_key: boolean;
  /** The URLs of license servers and services by purpose, without credentials and query. */
  readonly urls: Readonly<Record<string, string>>;
  /** IDs of the keys of the key source `static`. */
  readonly key_ids?: readonly string[];
  readonly fairplay_certificate?: string;
  readonly allow_private: boolean | readonly string[];
}

export const showDrmConfiguration = ({
  settings,
  ...configuration
}: DrmConfiguration & { readonly settings: DrmSettings }): PublicDrmConfiguration => {
  const { licenses, keys, cpix, fairplayCertificate: certificate } = settings;
  const services = Object.entries({ ...licenses, ...(cpix && { cpix }) });
  return {
    id: configuration.id,
    name: configuration.name,
    key_source: configuration.keySource,
    environment_id: configuration.environmentId,
    created_at: configuration.createdAt.toISOString(),
    clear_key: settings.clearKey,
    urls: Object.fromEntries(services.map(([name, service]) => [name, withoutSecrets(service)])),
    ...(keys && { key_ids: [...new Set([keys.video.kid, keys.audio.kid])] }),
    ...(certificate && {
      fairplay_certificate:
        'base64' in certificate
          ? `${Buffer.from(certificate.base64, 'base64').length} bytes`
          : withoutSecrets(certificate),
    }),
    allow_private: settings.allowPrivate,
  };
};

const withoutSecrets = ({ url }: ServiceSettings): string => {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
};
