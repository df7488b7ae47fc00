/**
 * Key services and license servers that lie, hang, are down: each time a clear error, and nothing
 * is kept or stuck.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { planFile } from '../../support/media/video-run.js';
import { startPlayback } from '../../support/players/playback.js';
import { inSeconds, type OwnedKey, signToken } from '../../support/players/playback-token.js';
import {
  type AskedKeys,
  type KeyResponse,
  type KeyService,
  startKeyService,
} from '../../support/servers/key-service.js';
import { type Origin, startOrigin } from '../../support/servers/origin.js';
import { until } from '../../support/servers/server-process.js';

const WIDEVINE = 'edef8ba9-79d6-4ace-a3c8-27dcd51d21ed';
const FAIRPLAY = '94ce86fb-07ff-4f43-adb8-93d2fa968ca2';
const PRIVATE = ['127.0.0.0/8'];

let server: Awaited<ReturnType<typeof startPlayback>>;
let service: KeyService;
let upstream: Origin;
let upstreamResponses: (request: IncomingMessage, response: ServerResponse) => void;
let key: OwnedKey;
let assetId: string;

beforeAll(async () => {
  server = await startPlayback({ allowServices: false, serviceLimitMs: 1000 });
  service = await startKeyService();
  upstream = await startOrigin((request, response) => upstreamResponses(request, response));
  const created = await server.sdk().system.signingKeys.create();
  key = { keyId: created.id, keySecret: created.private_key! };
  ({ assetId } = await server.addAsset(await planFile(await fixture('h264-aac.mp4'), { quality: 'plus' })));
});
afterAll(async () => {
  await server?.stop();
  await service?.stop();
  await upstream?.stop();
});
beforeEach(() => {
  service.response = undefined;
  service.asked.length = 0;
  server.requestLog.lines.length = 0;
});

const token = (playbackId: string, aud: string) =>
  signToken(key, { kid: key.keyId, sub: playbackId, aud, exp: inSeconds(600) });
const message = async (failed: Response) => `${failed.status} ${JSON.stringify(await failed.json())}`;
const playlist = (id: string) => fetch(`${server.origin}/${id}.m3u8?token=${token(id, 'v')}`);

const REFUSED = '502 {"code":14,"message":"The license service refused the request"}';
const AWAY = '503 {"code":14,"message":"Service temporarily unavailable"}';
/** What the log says of the failures of services; each line says whose service it is. */
const reasons = () => {
  const failures = server.requestLog.lines.map(({ fields }) => fields).filter(({ reason }) => reason !== undefined);
  for (const fields of failures) expect(fields.drm_configuration_id).toMatch(/^[A-Za-z0-9]{40}$/);
  return failures.map(({ reason }) => reason);
};

describe('a key service', () => {
  const cpixId = (url = `${service.url}/speke`) =>
    server.addDrmId(assetId, 'cpix', { clearKey: false, licenses: {}, allowPrivate: PRIVATE, cpix: { url } });
  const countKeys = async () => {
    const rows = await server.database.queryable.selectFrom('content_key').select('kid').execute();
    return rows.length;
  };

  const altered =
    (pattern: RegExp, replacement: string) =>
    ({ filled }: AskedKeys): KeyResponse => {
      const body = filled.replace(pattern, replacement);
      expect(body).not.toBe(filled);
      return { status: 200, body };
    };
  const plain = (body: string) => (): KeyResponse => ({ status: 200, body });
  const system = (id: string) => `<cpix:DRMSystem kid="[^"]+" systemId="${id}">`;
  const base64 = (bytes: string | Buffer) => Buffer.from(bytes).toString('base64');
  const otherBox = Buffer.from('0000002070737368000000009a04f07998404286ab92e65be0885f9500000000', 'hex');

  const lies: [string, string, NonNullable<KeyService['response']>, string?][] = [
    ['refuses', 'status 401', () => ({ status: 401, body: 'no' })],
    ['fails', 'status 500', () => ({ status: 500, body: '' })],
    ['has no content', 'status 204', () => ({ status: 204, body: '' })],
    ['redirects', 'status 302', () => ({ status: 302, body: '', headers: { location: `${upstream.url}/keys` } })],
    ['answers nothing', 'the answer is not XML', plain('')],
    ['answers no XML', 'the answer is not XML', plain('keys')],
    ['answers a page', 'the answer has a document type', plain('<!doctype html><html><body>Sign in</body></html>')],
    ['answers a page without a type', 'the answer is not a CPIX document', plain('<html><body>Sign in</body></html>')],
    ['answers half a document', 'the answer is not XML', ({ filled }) => ({ status: 200, body: filled.slice(0, 900) })],
    ['answers another document', 'the answer is not a CPIX document', plain('<CPIX/>')],
    ['has a document type', 'the answer has a document type', altered(/<cpix:CPIX/, '<!DOCTYPE x><cpix:CPIX')],
    ['repeats the question', 'video: the answer lacks the HLS signaling', ({ body }) => ({ status: 200, body })],
    ['speaks of other content', 'the answer is for other content', altered(/contentId="[^"]+"/, 'contentId="other"')],
    [
      'has the key under another ID',
      'video: the answer lacks the key',
      altered(/ContentKey kid="[^"]+"/, 'ContentKey kid="00000000-0000-4000-8000-000000000000"'),
    ],
    [
      'leaves out the key of the audio',
      'audio: the answer lacks the key',
      altered(/(<cpix:ContentKey .*?<\/cpix:ContentKey>\s*)<cpix:ContentKey .*?<\/cpix:ContentKey>/s, '$1'),
    ],
    [
      'has a key twice',
      'video: the answer has the key twice',
      altered(/(<cpix:ContentKey .*?<\/cpix:ContentKey>)/s, '$1$1'),
    ],
    [
      'has a key of 15 bytes',
      'video: the key does not have 16 bytes',
      altered(/PlainValue>[^<]+/, `PlainValue>${base64(Buffer.alloc(15))}`),
    ],
    [
      'has a key of 32 bytes',
      'video: the key does not have 16 bytes',
      altered(/PlainValue>[^<]+/, `PlainValue>${base64(Buffer.alloc(32))}`),
    ],
    ['has a key with other characters', 'video: the key is not base64', altered(/PlainValue>/, 'PlainValue>!')],
    [
      'has a key in hexadecimal digits',
      'video: the key does not have 16 bytes',
      altered(/PlainValue>[^<]+/, `PlainValue>${'0f'.repeat(16)}`),
    ],
    ['encrypts its keys', 'video: the answer has the key not in the clear', altered(/PlainValue/g, 'EncryptedValue')],
    [
      'has a vector of 8 bytes',
      'video: the vector does not have 16 bytes',
      altered(/explicitIV="[^"]+"/, `explicitIV="${base64(Buffer.alloc(8))}"`),
    ],
    [
      'has keys for another scheme',
      'video: the key is for another encryption scheme',
      altered(/commonEncryptionScheme="cbcs"/, 'commonEncryptionScheme="cenc"'),
    ],
    [
      'names no key system',
      'video: the answer names no key system',
      altered(/<cpix:DRMSystemList>.*<\/cpix:DRMSystemList>/s, ''),
    ],
    [
      'has a PSSH of nothing',
      `video: the answer lacks the PSSH of ${WIDEVINE}`,
      altered(/<cpix:PSSH>[^<]+/, '<cpix:PSSH>'),
    ],
    ['lacks a PSSH', `video: the answer lacks the PSSH of ${WIDEVINE}`, altered(/<cpix:PSSH>.*?<\/cpix:PSSH>/, '')],
    [
      'has a PSSH that is no box',
      `video: the PSSH of ${WIDEVINE} is not a pssh box`,
      altered(/<cpix:PSSH>[^<]+/, `<cpix:PSSH>${base64('any bytes')}`),
    ],
    [
      'has the PSSH of another system',
      `video: the PSSH of ${WIDEVINE} is not a pssh box of that system`,
      altered(/<cpix:PSSH>[^<]+/, `<cpix:PSSH>${base64(otherBox)}`),
    ],
    [
      'lacks the signaling of FairPlay',
      `video: the answer lacks the HLS signaling of ${FAIRPLAY}`,
      altered(new RegExp(`(${system(FAIRPLAY)}).*?</cpix:DRMSystem>`, 's'), '$1</cpix:DRMSystem>'),
    ],
    [
      'signals another method',
      `video: the HLS signaling of ${WIDEVINE} has no key tag of method SAMPLE-AES`,
      altered(/playlist="media">[^<]+/, `playlist="media">${base64('#EXT-X-KEY:METHOD=NONE')}`),
    ],
  ];
  test.each(lies)('that %s is a 502, and the log says "%s"', async (_, reason, lie) => {
    const [id, before] = [await cpixId(), await countKeys()];
    service.response = lie;
    expect(await message(await playlist(id))).toBe(REFUSED);
    expect(reasons()).toEqual([expect.stringContaining(reason)]);
    expect(await countKeys()).toBe(before);
    service.response = undefined;
    // Nothing was kept of the failure.
    expect((await playlist(id)).status).toBe(200);
    expect(await countKeys()).toBe(before + 2);
  });

  test('that does not serve a key system leaves it out', async () => {
    const id = await cpixId();
    service.response = altered(new RegExp(`${system(FAIRPLAY)}.*?</cpix:DRMSystem>`, 'gs'), '');
    const master = await (await playlist(id)).text();
    expect(master).toContain(`KEYFORMAT="${WIDEVINE}"`);
    expect(master).not.toContain(FAIRPLAY);
  });

  test.each<[string, NonNullable<KeyService['response']>, string]>([
    ['hangs', () => undefined, 'No answer in time'],
    [
      'hangs in the middle of its answer',
      ({ filled, response }) =>
        void response.writeHead(200, { 'content-length': filled.length }).write(filled.slice(0, 500)),
      'No answer in time',
    ],
    [
      'ends in the middle of its answer',
      ({ filled, response }) => {
        response
          .writeHead(200, { 'content-length': filled.length })
          .write(filled.slice(0, 500), () => response.destroy());
        return undefined;
      },
      'aborted',
    ],
    ['hangs up', ({ response }) => void response.destroy(), 'socket hang up'],
    ['answers hugely', ({ filled }) => ({ status: 200, body: filled.padEnd(3 * 2 ** 20) }), 'The answer is too large'],
  ])('that %s is a 503 to all who wait, and is asked once while they do', async (_, lie, reason) => {
    const id = await cpixId();
    service.response = lie;
    const responses = await Promise.all([playlist(id), playlist(id), playlist(id)]);
    expect(await Promise.all(responses.map(message))).toEqual([AWAY, AWAY, AWAY]);
    expect(responses[0]!.headers.get('retry-after')).toBe('2');
    // A request that arrives after a quick failure asks again.
    if (reason === 'No answer in time') expect(service.asked).toHaveLength(1);
    expect(reasons()).toEqual(Array(3).fill(expect.stringContaining(reason)));
    service.response = undefined;
    expect((await playlist(id)).status).toBe(200);
    // The same keys were asked for again, so that a service that had made them makes no others.
    expect(service.asked.length).toBeGreaterThan(1);
    expect(new Set(service.asked.map(({ body }) => body)).size).toBe(1);
  });

  test('that is down is a 503', async () => {
    const closed = await startOrigin(() => undefined);
    await closed.stop();
    expect(await message(await playlist(await cpixId(`${closed.url}/speke`)))).toBe(AWAY);
    expect(reasons()).toEqual([expect.stringContaining('ECONNREFUSED')]);
  });

  test('that answers when the asset has gone is too late', async () => {
    const gone = await server.addAsset(await planFile(await fixture('h264-aac.mp4'), { quality: 'plus' }));
    const id = await server.addDrmId(gone.assetId, 'cpix', {
      clearKey: false,
      licenses: {},
      allowPrivate: PRIVATE,
      cpix: { url: service.url },
    });
    service.response = async ({ filled }) => {
      expect((await server.call('DELETE', `/video/v1/assets/${gone.assetId}`)).status).toBe(204);
      return { status: 200, body: filled };
    };
    expect(await message(await playlist(id))).toBe('404 {"code":5,"message":"Not Found"}');
  });
});

describe('a license server', () => {
  const licensedId = () =>
    server.addDrmId(assetId, 'local', {
      clearKey: false,
      licenses: { widevine: { url: upstream.url } },
      fairplayCertificate: { url: upstream.url },
      allowPrivate: PRIVATE,
    });
  const challenge = (id: string) =>
    fetch(`${server.origin}/license/widevine/${id}?token=${token(id, 'd')}`, { method: 'POST', body: 'challenge' });
  const certificate = (id: string) => fetch(`${server.origin}/appcert/fairplay/${id}?token=${token(id, 'd')}`);

  test.each<[string, string, string, typeof upstreamResponses]>([
    ['answers nothing', REFUSED, 'empty answer', (_, response) => response.end()],
    ['has no content', REFUSED, 'status 204', (_, response) => response.writeHead(204).end()],
    ['refuses with a license', REFUSED, 'status 403', (_, response) => response.writeHead(403).end('license')],
    [
      'redirects',
      REFUSED,
      'status 307',
      (_, response) => response.writeHead(307, { location: `${service.url}/license` }).end(),
    ],
    ['hangs', AWAY, 'No answer in time', () => undefined],
    [
      'sends a byte from time to time',
      AWAY,
      'No answer in time',
      (_, response) => {
        const timer = setInterval(() => response.write('x'), 50);
        response.once('close', () => clearInterval(timer));
      },
    ],
    [
      'ends in the middle of a license',
      AWAY,
      'aborted',
      (_, response) => {
        response.writeHead(200, { 'content-length': 100 }).write('half', () => response.destroy());
      },
    ],
    ['answers hugely', AWAY, 'The answer is too large', (_, response) => response.end(Buffer.alloc(2 ** 20 + 1))],
    [
      'speaks no HTTP',
      AWAY,
      'Parse Error',
      (request) => {
        request.socket.end('license\r\n\r\n');
      },
    ],
    [
      'switches protocols',
      AWAY,
      'switched protocols',
      (request) => {
        request.socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n');
      },
    ],
  ])('that %s: %s', async (_, expected, reason, handle) => {
    const id = await licensedId();
    let open = 0;
    upstreamResponses = (request, response) => {
      open++;
      request.socket.once('close', () => open--);
      handle(request, response);
    };
    expect(await message(await challenge(id))).toBe(expected);
    expect(await message(await certificate(id))).toBe(expected);
    expect(reasons()).toEqual(Array(2).fill(expect.stringContaining(reason)));
    await until('no connection is left', () => open === 0);
    upstreamResponses = (__, response) => response.end('license');
    expect(await (await challenge(id)).text()).toBe('license');
  });
});
