import { element, textElement } from './xml.js';

/** What a manifest tells players about a key. */
export interface DashKey {
  /** 16 bytes. */
  readonly kid: Uint8Array;
  readonly systems: readonly {
    /** UUID in lower case. */
    readonly systemId: string;
    readonly name?: string;
    /** A complete `pssh` box in Base64. */
    readonly pssh?: string;
  }[];
}

const uuidOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

/**
 * The `ContentProtection` elements of an adaptation set, the scheme first (ISO/IEC 23001-7, 11.2).
 */
export const contentProtection = ({ kid, systems }: DashKey): string[] => [
  element('ContentProtection', {
    schemeIdUri: 'urn:mpeg:dash:mp4protection:2011',
    value: 'cbcs',
    'cenc:default_KID': uuidOf(kid),
  }),
  ...systems.map(({ systemId, name, pssh }) =>
    element(
      'ContentProtection',
      { schemeIdUri: `urn:uuid:${systemId}`, value: name },
      pssh === undefined ? undefined : textElement('cenc:pssh', {}, pssh),
    ),
  ),
];
