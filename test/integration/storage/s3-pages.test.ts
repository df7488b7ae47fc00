import { afterAll, beforeAll, expect, it } from 'vitest';
import { ObjectClient } from '#kinora/storage/s3/object-client.js';
import { type Origin, startOrigin } from '../../support/servers/origin.js';

/** Two uploads on each page. Two of them have the same key, on both sides of a page's end. */
const uploads = ['a', 'b', 'b', 'c', 'd'].map((key, index) => ({ key: `kinora/parts/${key}`, id: `id-${index}` }));
const PAGE = 2;

let server: Origin;
let objects: ObjectClient;
beforeAll(async () => {
  server = await startOrigin((request, response) => {
    const query = new URL(request.url!, 'http://host').searchParams;
    const [key, id] = [query.get('key-marker'), query.get('upload-id-marker')];
    const at = uploads.findIndex((upload) => upload.key === key && upload.id === id) + 1;
    const page = uploads.slice(at, at + PAGE);
    const isTruncated = at + PAGE < uploads.length;
    const listed = page.map(({ key, id }) => `<Upload><Key>${key}</Key><UploadId>${id}</UploadId></Upload>`);
    const { key: nextKey, id: nextId } = page.at(-1)!;
    const next = `<NextKeyMarker>${nextKey}</NextKeyMarker><NextUploadIdMarker>${nextId}</NextUploadIdMarker>`;
    response.end(
      `<?xml version="1.0"?><ListMultipartUploadsResult><IsTruncated>${isTruncated}</IsTruncated>` +
        `${isTruncated ? next : ''}${listed.join('')}</ListMultipartUploadsResult>`,
    );
  });
  const credentials = { accessKeyId: 'a', secretAccessKey: 's' };
  const settings = { bucket: 'b', prefix: 'kinora', region: 'us-east-1', pathStyle: true, credentials };
  objects = await ObjectClient.open({ ...settings, endpoint: server.url });
});
afterAll(async () => {
  objects.close();
  await server.stop();
});

it('lists the unfinished uploads of all pages', async () => {
  const listed = await objects.listParts('parts/');
  expect(listed).toEqual(uploads.map(({ key, id }) => ({ key: key.slice('kinora/'.length), uploadId: id })));
  expect(server.requests).toHaveLength(3);
});
