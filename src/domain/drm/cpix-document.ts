import { DOMParser, type Element } from '@xmldom/xmldom';
import { isPsshBox, systemIds } from '../../media/mp4/pssh.js';
import type { KeySystemSignal, KeyTrack } from './key-source.js';

/**
 * CPIX 2.3 documents (DASH-IF) as used by SPEKE 2.0: a request names keys, and the response repeats
 * it with the keys filled in.
 */

const CPIX = 'urn:dashif:org:cpix';
const PSKC = 'urn:ietf:params:xml:ns:keyprov:pskc';
const KEY_BYTES = 16;

/** What is requested for each key system. FairPlay has no `pssh` boxes. */
const REQUESTED = [
  [systemIds.widevine, ['<cpix:PSSH/>']],
  [systemIds.playready, ['<cpix:PSSH/>']],
  [systemIds.fairplay, []],
] as const;
const SIGNALING = ['<cpix:HLSSignalingData playlist="media"/>', '<cpix:HLSSignalingData playlist="master"/>'];
const FILTERS = { video: '<cpix:VideoFilter/>', audio: '<cpix:AudioFilter/>' } as const;

export interface RequestedKey {
  readonly track: KeyTrack;
  /** A UUID. */
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
  /** Undefined when the service leaves the vector to Kinora. */
  readonly iv: Uint8Array | undefined;
  readonly systems: readonly KeySystemSignal[];
}

/**
 * Reads the keys of a response by their IDs. The service may omit a key system that it does not
 * serve. What it says about the others must be complete, because a player could not tell what is
 * wrong.
 * @throws Error when the document is invalid, belongs to other content, or a key is missing or
 * unusable
 */
export const readCpixResponse = (
  text: string,
  contentId: string,
  requested: readonly RequestedKey[],
): Map<string, DeliveredKey> => {
  // Entities of a document type could expand a small document to a huge one.
  if (/<!DOCTYPE/i.test(text)) throw new Error('the answer has a document type');
  const root = new DOMParser({
    onError: () => {
      throw new Error('the answer is not XML');
    },
  }).parseFromString(text, 'text/xml').documentElement;
  if (root?.namespaceURI !== CPIX || root.localName !== 'CPIX') throw new Error('the answer is not a CPIX document');
  if ((root.getAttribute('contentId') || contentId) !== contentId) throw new Error('the answer is for other content');
  return new Map(
    requested.map(({ kid, track }) => {
      const ofKey = (name: string): Element[] =>
        all(root, name).filter((element) => element.getAttribute('kid')?.toLowerCase() === kid);
      try {
        return [kid, readKey(ofKey('ContentKey'), ofKey('DRMSystem'))];
      } catch (error) {
        throw new Error(`${track}: ${(error as Error).message}`);
      }
    }),
  );
};

const readKey = (contentKeys: readonly Element[], drmSystems: readonly Element[]): DeliveredKey => {
  const [contentKey, second] = contentKeys;
  if (!contentKey) throw new Error('the answer lacks the key');
  if (second) throw new Error('the answer has the key twice');
  if ((contentKey.getAttribute('commonEncryptionScheme') || 'cbcs') !== 'cbcs') {
    throw new Error('the key is for another encryption scheme');
  }
  const systems = drmSystems.map(readSystem);
  if (systems.length === 0) throw new Error('the answer names no key system');
  if (new Set(systems.map(({ systemId }) => systemId)).size < systems.length) {
    throw new Error('the answer has a key system twice');
  }
  const iv = contentKey.getAttribute('explicitIV');
  const value = all(contentKey, 'PlainValue', PSKC)[0]?.textContent;
  if (!value) throw new Error('the answer has the key not in the clear');
  return {
    key: keyBytes(value, 'the key'),
    iv: iv ? keyBytes(iv, 'the vector') : undefined,
    systems,
  };
};

const all = (parent: Element, name: string, namespace = CPIX): Element[] =>
  Array.from(parent.getElementsByTagNameNS(namespace, name));

/**
 * `Buffer` stops silently at invalid base64.
 * @throws Error when the text is not valid base64
 */
const readBase64 = (text: string, what: string): Buffer => {
  const compact = text.replaceAll(/\s/g, '');
  const bytes = Buffer.from(compact, 'base64');
  if (bytes.toString('base64') !== compact) throw new Error(`${what} is not base64`);
  return bytes;
};

const keyBytes = (text: string, what: string): Uint8Array => {
  const bytes = readBase64(text, what);
  if (bytes.length !== KEY_BYTES) throw new Error(`${what} does not have ${KEY_BYTES} bytes`);
  return bytes;
};

const KEY_TAG = /^#EXT-X-(?:SESSION-)?KEY:(METHOD=SAMPLE-AES,[ -~]+)$/m;

const readSystem = (system: Element): KeySystemSignal => {
  const systemId = (system.getAttribute('systemId') ?? '').toLowerCase();
  const signaling = all(system, 'HLSSignalingData');
  const attributesOf = (playlist: string): string | undefined => {
    const match = signaling.find((element) => (element.getAttribute('playlist') || 'media') === playlist);
    if (!match?.textContent) return undefined;
    const text = readBase64(match.textContent, `the HLS signaling of ${systemId}`).toString('utf8');
    const attributes = KEY_TAG.exec(text.replaceAll('\r', ''))?.[1];
    if (!attributes) throw new Error(`the HLS signaling of ${systemId} has no key tag of method SAMPLE-AES`);
    return attributes;
  };
  const keyAttributes = attributesOf('media');
  const sessionAttributes = attributesOf('master');
  const pssh = readPssh(all(system, 'PSSH')[0], systemId);
  const isAsked = REQUESTED.find(([id]) => id === systemId);
  if (isAsked && !keyAttributes) throw new Error(`the answer lacks the HLS signaling of ${systemId}`);
  if (isAsked?.[1].length && !pssh) throw new Error(`the answer lacks the PSSH of ${systemId}`);
  return { systemId, pssh, keyAttributes, sessionAttributes };
};

/** It becomes a part of init segments, which any other box would damage. */
const readPssh = (element: Element | undefined, systemId: string): string | undefined => {
  if (!element?.textContent?.trim()) return undefined;
  const box = readBase64(element.textContent, `the PSSH of ${systemId}`);
  if (!isPsshBox(box, systemId)) throw new Error(`the PSSH of ${systemId} is not a pssh box of that system`);
  return box.toString('base64');
};
