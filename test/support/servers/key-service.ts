/**
 * A key service that speaks SPEKE 2.0: checks the request against the rules of CPIX 2.3 and fills
 * in the keys.
 */
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { DOMParser, type Element } from '@xmldom/xmldom';
import { type Origin, startOrigin } from './origin.js';

const CPIX = 'urn:dashif:org:cpix';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Order and number of the children that the schema allows, and the attributes that it demands. */
const RULES: Readonly<Record<string, { children: readonly string[]; attributes: readonly string[] }>> = {
  CPIX: { children: ['ContentKeyList', 'DRMSystemList', 'ContentKeyUsageRuleList'], attributes: [] },
  ContentKeyList: { children: ['ContentKey'], attributes: [] },
  ContentKey: { children: ['Data'], attributes: ['kid'] },
  DRMSystemList: { children: ['DRMSystem'], attributes: [] },
  DRMSystem: {
    children: [
      'PSSH',
      'ContentProtectionData',
      'URIExtXKey',
      'HLSSignalingData',
      'SmoothStreamingProtectionHeaderData',
    ],
    attributes: ['kid', 'systemId'],
  },
  PSSH: { children: [], attributes: [] },
  HLSSignalingData: { children: [], attributes: [] },
  ContentKeyUsageRuleList: { children: ['ContentKeyUsageRule'], attributes: [] },
  ContentKeyUsageRule: { children: ['VideoFilter', 'AudioFilter', 'BitrateFilter'], attributes: ['kid'] },
  VideoFilter: { children: [], attributes: [] },
  AudioFilter: { children: [], attributes: [] },
};

const elementsOf = (parent: Element): Element[] =>
  Array.from(parent.childNodes).filter((node): node is Element => node.nodeType === 1);

/** What of an element breaks the schema. */
const problemsOf = (element: Element): string[] => {
  const name = element.localName!;
  const rule = element.namespaceURI === CPIX ? RULES[name] : undefined;
  if (!rule) return [`unknown element ${name}`];
  const problems = rule.attributes
    .filter((attribute) => !element.hasAttribute(attribute))
    .map((a) => `${name} without ${a}`);
  for (const attribute of ['kid', 'systemId'])
    if (element.hasAttribute(attribute) && !UUID.test(element.getAttribute(attribute)!))
      problems.push(`bad ${attribute}`);
  let place = 0;
  for (const child of elementsOf(element)) {
    const found = rule.children.indexOf(child.localName!);
    if (found < place) problems.push(`${child.localName} at the wrong place in ${name}`);
    else place = found;
    problems.push(...problemsOf(child));
  }
  return problems;
};

export interface AskedKeys {
  readonly body: string;
  readonly filled: string;
  readonly response: ServerResponse;
}
export interface KeyResponse {
  readonly status: number;
  readonly body: string;
  readonly headers?: Record<string, string>;
}

export interface KeyService extends Omit<Origin, 'requests'> {
  readonly asked: { readonly headers: IncomingHttpHeaders; readonly body: string; readonly problems: string[] }[];
  /**
   * Instead of the answer with keys, `filled`. Without a result the connection stays open and
   * silent.
   */
  response: ((asked: AskedKeys) => KeyResponse | undefined | Promise<KeyResponse | undefined>) | undefined;
}

/** The key that the service gives for a key ID. */
export const serviceKey = (kid: string): Buffer => createHash('sha256').update(`key ${kid}`).digest().subarray(0, 16);
const serviceIv = (kid: string): Buffer => createHash('sha256').update(`iv ${kid}`).digest().subarray(0, 16);

/** What it says of a key to players of a key system. */
export const signaling = (systemId: string, kid: string): string =>
  `METHOD=SAMPLE-AES,URI="service:${systemId}:${kid}",KEYFORMAT="${systemId}",KEYFORMATVERSIONS="1"`;

const PSSH_BYTES = 32;
const psshOf = (systemId: string): string => {
  const box = Buffer.alloc(PSSH_BYTES);
  box.writeUInt32BE(PSSH_BYTES);
  box.write('pssh', 4, 'latin1');
  Buffer.from(systemId.replaceAll('-', ''), 'hex').copy(box, 12);
  return box.toString('base64');
};

const fill = (body: string): string =>
  body
    .replaceAll(
      /<cpix:ContentKey kid="([^"]+)" commonEncryptionScheme="cbcs"\/>/g,
      (_, kid: string) =>
        `<cpix:ContentKey kid="${kid}" commonEncryptionScheme="cbcs" explicitIV="${serviceIv(kid).toString('base64')}">` +
        `<cpix:Data><pskc:Secret><pskc:PlainValue>${serviceKey(kid).toString('base64')}</pskc:PlainValue></pskc:Secret></cpix:Data>` +
        '</cpix:ContentKey>',
    )
    .replaceAll(
      /<cpix:DRMSystem kid="([^"]+)" systemId="([^"]+)">(.*?)<\/cpix:DRMSystem>/gs,
      (whole, kid, systemId) => {
        const text = (tag: string) => Buffer.from(`#EXT-X-${tag}:${signaling(systemId, kid)}`).toString('base64');
        return whole
          .replace('<cpix:PSSH/>', `<cpix:PSSH>${psshOf(systemId)}</cpix:PSSH>`)
          .replace('playlist="media"/>', `playlist="media">${text('KEY')}</cpix:HLSSignalingData>`)
          .replace('playlist="master"/>', `playlist="master">${text('SESSION-KEY')}</cpix:HLSSignalingData>`);
      },
    );

export const startKeyService = async (): Promise<KeyService> => {
  const asked: KeyService['asked'] = [];
  const origin = await startOrigin(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const root = new DOMParser().parseFromString(body, 'text/xml').documentElement!;
    asked.push({ headers: request.headers, body, problems: problemsOf(root) });
    const filled = fill(body);
    const sent = service.response ? await service.response({ body, filled, response }) : { status: 200, body: filled };
    if (sent) response.writeHead(sent.status, { 'content-type': 'application/xml', ...sent.headers }).end(sent.body);
  });
  const service: KeyService = Object.assign(origin, { asked, response: undefined });
  return service;
};
