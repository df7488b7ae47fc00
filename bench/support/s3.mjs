// A store with the part of the S3 protocol that Kinora uses. It keeps objects in memory and answers
// after a delay, as if it were far away. Signatures are not checked.
import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';

const xml = (response, body) =>
  response.writeHead(200, { 'content-type': 'application/xml' }).end(`<?xml version="1.0"?>${body}`);

export const startStore = async ({ latencyMs }) => {
  const objects = new Map();
  const parts = new Map();
  const store = { gets: 0, sentBytes: 0 };
  const etagOf = (bytes) => `"${createHash('md5').update(bytes).digest('hex')}"`;

  const put = (response, key, bytes) => {
    objects.set(key, { bytes, etag: etagOf(bytes) });
    response.writeHead(200, { etag: objects.get(key).etag }).end();
  };
  const send = (request, response, key) => {
    const object = objects.get(key);
    if (!object) return response.writeHead(404).end();
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
    const { length } = object.bytes;
    const start = Number(range?.[1] ?? 0);
    const end = Math.min(range?.[2] ? Number(range[2]) + 1 : length, length);
    if (start >= length && range) return response.writeHead(416).end();
    response.writeHead(range ? 206 : 200, {
      etag: object.etag,
      'content-length': end - start,
      ...(range && { 'content-range': `bytes ${start}-${end - 1}/${length}` }),
    });
    if (request.method === 'HEAD') return response.end();
    store.gets += 1;
    store.sentBytes += end - start;
    return response.end(object.bytes.subarray(start, end));
  };
  const list = (response, prefix) => {
    const found = [...objects].filter(([key]) => key.startsWith(prefix));
    const contents = found.map(
      ([key, { bytes }]) => `<Contents><Key>${key}</Key><Size>${bytes.length}</Size></Contents>`,
    );
    xml(response, `<ListBucketResult><IsTruncated>false</IsTruncated>${contents.join('')}</ListBucketResult>`);
  };
  const multipart = (request, response, key, query, bytes) => {
    const uploadId = query.get('uploadId');
    if (request.method === 'DELETE') {
      parts.delete(uploadId);
      return response.writeHead(204).end();
    }
    if (request.method === 'PUT') {
      parts.get(uploadId)[Number(query.get('partNumber')) - 1] = bytes;
      return response.writeHead(200, { etag: etagOf(bytes) }).end();
    }
    if (uploadId === null) {
      const id = randomUUID();
      parts.set(id, []);
      return xml(response, `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);
    }
    const whole = Buffer.concat(parts.get(uploadId));
    objects.set(key, { bytes: whole, etag: etagOf(whole) });
    return xml(response, '<CompleteMultipartUploadResult></CompleteMultipartUploadResult>');
  };

  const server = createServer(async (request, response) => {
    const url = new URL(request.url, 'http://localhost');
    const bytes = await buffer(request);
    await delay(latencyMs);
    const key = decodeURIComponent(url.pathname).split('/').slice(2).join('/');
    const query = url.searchParams;
    if (query.has('uploads') && request.method === 'GET') return xml(response, '<ListMultipartUploadsResult/>');
    if (query.has('uploads') || query.has('uploadId')) return multipart(request, response, key, query, bytes);
    if (query.has('list-type')) return list(response, query.get('prefix') ?? '');
    if (request.method === 'PUT') return put(response, key, bytes);
    if (request.method !== 'DELETE') return send(request, response, key);
    objects.delete(key);
    return response.writeHead(204).end();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(store, {
    /** What `startKinora` needs to keep its blobs here. */
    options: {
      BLOBS: 's3://bench/kinora',
      S3_ENDPOINT: `http://127.0.0.1:${server.address().port}`,
      S3_ACCESS_KEY_ID: 'bench',
      S3_SECRET_ACCESS_KEY: 'bench',
    },
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  });
};
