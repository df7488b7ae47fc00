import type { KeySourceKind } from '../../db/schema.js';

/** Key systems whose licenses come from a server of the operator. */
export const licensedSystems = ['widevine', 'playready', 'fairplay'] as const;
export type LicensedSystem = (typeof licensedSystems)[number];

/** A service of the operator: a license server or a key service. */
export interface ServiceSettings {
  readonly url: string;
  /** Sent with every request; values by header name. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface StaticKey {
  /** 32 hexadecimal digits each. */
  readonly kid: string;
  readonly key: string;
  readonly iv?: string;
}

/** The content of a DRM configuration, encrypted as a whole. */
export interface DrmSettings {
  /** Kinora answers ClearKey license requests itself. */
  readonly clearKey: boolean;
  readonly licenses: Readonly<Partial<Record<LicensedSystem, ServiceSettings>>>;
  /** The FairPlay certificate: base64 of its bytes, or its URL. */
  readonly fairplayCertificate?: { readonly base64: string } | ServiceSettings;
  /**
   * Private networks that requests to these services may reach, in addition to those that downloads
   * may reach.
   */
  readonly allowPrivate: boolean | readonly string[];
  /** For the key source `static`. */
  readonly keys?: { readonly video: StaticKey; readonly audio: StaticKey };
  /** For the key source `cpix`. */
  readonly cpix?: ServiceSettings;
}

export interface DrmConfiguration {
  readonly id: string;
  readonly environmentId: string;
  readonly name: string;
  readonly keySource: KeySourceKind;
  readonly createdAt: Date;
}
