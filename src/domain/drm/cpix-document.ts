import { DOMParser, type Element } from '@xmldom/xmldom';
import { systemIds } from '../../media/mp4/pssh.js';
import type { KeySystemSignal, KeyTrack } from './key-source.js';

/** Documents of CPIX 2.3 (DASH-IF) as SPEKE 2.0 uses them: a request names keys, the answer repeats it with the keys filled in. */

const CPIX = 'urn:dashif:org:cpix';
const PSKC = 'urn:ietf:params:xml:ns:keyprov:pskc';
const KEY_BYTES = 16;

/** What is asked of each key system. FairPlay has no `pssh` boxes. */
const REQUESTED = [
  [systemIds.widevine, ['<cpix:PSSH/>']],
  [systemIds.playready, ['<cpix:PSSH/>']],
  [systemIds.fairplay, []],
] as const;
const SIGNALING = ['<cpix:HLSSignalingData playlist="media"/>', '<cpix:HLSSignalingData playlist="master"/>'];
const FILTERS = { video: '<cpix:VideoFilter/>', audio: '<cpix:AudioFilter/>' } as const;

export interface RequestedKey {
  readonly track: KeyTrack;
  /** UUID. */
  readonly kid: string;
}

/** Asset IDs and UUIDs need no escaping. */
export const writeCpixRequest = (contentId: string, keys: readonly RequestedKey[]): string =>
  [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<cpix:CPIX xmlns:cpix="${CPIX}" xmlns:pskc="${PSKC}" contentId="${contentId}" version="2.3">`,
    '<cpix:ContentKeyList>',
    ...keys.map(({ kid }) => `<cpix:ContentKey kid="${kid}" commonEncryptionScheme="cbcs"/>`),
    '</cpix:ContentKeyList>',
    '<cpix:DRMSystemList>',
    ...keys.flatMap(({ kid }) =>
      REQUESTED.map(([systemId, parts]) =>
        [`<cpix:DRMSystem kid="${kid}" systemId="${systemId}">`, ...parts, ...SIGNALING, '</cpix:DRMSystem>'].join(''),
      ),
    ),
    '</cpix:DRMSystemList>',
    '<cpix:ContentKeyUsageRuleList>',
    ...keys.map(
      ({ kid, track }) =>
        `<cpix:ContentKeyUsageRule kid="${kid}" intendedTrackType="${track.toUpperCase()}">${FILTERS[track]}</cpix:ContentKeyUsageRule>`,
    ),
    '</cpix:ContentKeyUsageRuleList>',
    '</cpix:CPIX>',
  ].join('\n');

export interface DeliveredKey {
  readonly key: Uint8Array;
  /** Undefined when the service leaves the vector to us. */
  readonly iv: Uint8Array | undefined;
  readonly systems: readonly KeySystemSignal[];
}

/**
 * The keys of an answer by their IDs.
 * @throws Error when it is not such a document or lacks one of the keys
 */
export const readCpixAnswer = (text: string, kids: readonly string[]): Map<string, DeliveredKey> => {
  // Entities of a document type could make a small document a huge one.
  if (text.includes('<!DOCTYPE')) throw new Error('the answer has a document type');
  const root = new DOMParser({
    onError: () => {
      throw new Error('the answer is not XML');
    },
  }).parseFromString(text, 'text/xml').documentElement;
  if (root?.namespaceURI !== CPIX || root.localName !== 'CPIX') throw new Error('the answer is not a CPIX document');
  const ofKey = (name: string, kid: string): Element[] =>
    all(root, name).filter((element) => element.getAttribute('kid')?.toLowerCase() === kid);
  return new Map(
    kids.map((kid) => {
      const [contentKey] = ofKey('ContentKey', kid);
      if (!contentKey) throw new Error('the answer lacks a key');
      const scheme = contentKey.getAttribute('commonEncryptionScheme') || 'cbcs';
      if (scheme !== 'cbcs') throw new Error('a key is for another encryption scheme');
      const iv = contentKey.getAttribute('explicitIV');
      const value = all(contentKey, 'PlainValue', PSKC)[0]?.textContent ?? '';
      const systems = ofKey('DRMSystem', kid).map(readSystem);
      return [kid, { key: keyBytes(value), iv: iv ? keyBytes(iv) : undefined, systems }];
    }),
  );
};

const all = (parent: Element, name: string, namespace = CPIX): Element[] =>
  Array.from(parent.getElementsByTagNameNS(namespace, name));

const keyBytes = (text: string): Uint8Array => {
  const bytes = Buffer.from(text.trim(), 'base64');
  if (bytes.length !== KEY_BYTES) throw new Error('a key or vector of the answer has not 16 bytes in the clear');
  return bytes;
};

const readSystem = (system: Element): KeySystemSignal => {
  const pssh = all(system, 'PSSH')[0]?.textContent?.replaceAll(/\s/g, '');
  const attributesOf = (playlist: string): string | undefined => {
    const found = all(system, 'HLSSignalingData').find(
      (element) => (element.getAttribute('playlist') || 'media') === playlist,
    );
    const text = Buffer.from(found?.textContent ?? '', 'base64').toString('utf8');
    return /^#EXT-X-(?:SESSION-)?KEY:(METHOD=SAMPLE-AES,[ -~]+)$/m.exec(text.replaceAll('\r', ''))?.[1];
  };
  const keyAttributes = attributesOf('media');
  const sessionAttributes = attributesOf('master');
  return {
    systemId: (system.getAttribute('systemId') ?? '').toLowerCase(),
    ...(pssh && { pssh }),
    ...(keyAttributes && { keyAttributes }),
    ...(sessionAttributes && { sessionAttributes }),
  };
};
