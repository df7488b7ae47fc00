import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { paddedVideo, sha256Of } from '../../support/media/padded-video.js';
import { runCli } from '../../support/processes/run-cli.js';
import { type CutProxy, startCutProxy } from '../../support/servers/cut-proxy.js';
import {
  cleanUpServers,
  filesBelow,
  makeDataDir,
  type ServerProcess,
  startServer,
} from '../../support/servers/server-process.js';
import { expectStoryboardAt } from '../../support/wire/storyboard.js';

const MEGABYTE = 1e6;
const directory = mkdtempSync(join(tmpdir(), 'kinora-cli-upload-'));
const dataDir = makeDataDir();
const video = join(directory, 'holiday.mp4');
let proxy: CutProxy;
let server: ServerProcess;

const env = () => ({ KINORA_PUBLIC_URL: proxy.url, KINORA_TOKEN: `${server.token.id}:${server.token.secret}` });
const start = () => startServer({ dataDir, options: { PORT: String(proxy.serverPort), PUBLIC_URL: proxy.url } });

beforeAll(async () => {
  await paddedVideo(await fixture('video-only.mp4'), video, 40 * MEGABYTE);
  proxy = await startCutProxy();
  server = await start();
});
afterAll(async () => {
  await proxy.stop();
  await cleanUpServers();
  rmSync(directory, { recursive: true, force: true });
});

describe('kinora asset create <file>', () => {
  it('sends the file with progress and goes on after a cut and a killed server', async () => {
    const cut = proxy.breakAfter(10 * MEGABYTE);
    const running = runCli(['asset', 'create', video], env());
    await cut;
    const again = proxy.breakAfter(15 * MEGABYTE);
    proxy.restore();
    await again;
    await server.kill();
    server = await start();
    proxy.restore();
    const { status, stdout, stderr } = await running;
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/^http:\S+\/\w{40}\n$/) });
    expect(stderr).toMatch(/^uploading holiday\.mp4 0 %\n/);
    expect(stderr).toContain('retrying');
    expect(stderr).toMatch(/uploading holiday\.mp4 100 %\n[\s\S]*ready\n$/);
    await expectStoryboardAt(server, stdout.trim().split('/').at(-1)!, proxy.url);
    const stored = filesBelow(dataDir).filter((path) => path.endsWith('/source'));
    expect(stored).toHaveLength(1);
    expect(await sha256Of(join(dataDir, stored[0]!))).toBe(await sha256Of(video));
  });

  it('tells what is wrong with a file', async () => {
    const empty = join(directory, 'empty.mp4');
    writeFileSync(empty, '');
    mkdirSync(join(directory, 'texts'));
    writeFileSync(join(directory, 'texts', 'readme.txt'), 'x');
    const sentences: [string, string][] = [
      ['./nothing.mp4', 'There is no file ./nothing.mp4; name a file, a folder or an http(s) URL.'],
      ['s3://bucket/a.mp4', 'There is no file s3://bucket/a.mp4; name a file, a folder or an http(s) URL.'],
      ['/dev/null', '/dev/null is not a file.'],
      [
        join(directory, 'texts'),
        `${join(directory, 'texts')} has no video or audio files; name the files to upload others.`,
      ],
      [empty, `${empty} is empty.`],
    ];
    for (const [path, sentence] of sentences) {
      const result = await runCli(['asset', 'create', path], env());
      expect(result).toEqual({ status: 1, stdout: '', stderr: `kinora: ${sentence}\n` });
    }
    const text = await runCli(['asset', 'create', await fixture('text.mp4')], env());
    expect(text).toMatchObject({ status: 1, stdout: '', stderr: expect.stringMatching(/errored\nkinora: .*valid/) });
  });

  it('gives the reason of a refusal', async () => {
    const seen: string[] = [];
    const refusing = createServer((request, response) => {
      seen.push(request.method!);
      const { port } = refusing.address() as AddressInfo;
      const error = { type: 'gone', messages: ['This upload is no longer accepting data.'] };
      request.resume().on('end', () => {
        response.statusCode = request.method === 'PUT' ? 410 : 201;
        const upload = { id: 'x', status: 'waiting', url: `http://127.0.0.1:${port}/u/x` };
        response.end(JSON.stringify(request.method === 'PUT' ? { error } : { data: upload }));
      });
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => refusing.once('listening', resolve));
    const { port } = refusing.address() as AddressInfo;
    const small = join(directory, 'small.mp4');
    writeFileSync(small, readFileSync(await fixture('text.mp4')));
    const result = await runCli(['asset', 'create', small], {
      ...env(),
      KINORA_PUBLIC_URL: `http://127.0.0.1:${port}`,
    });
    refusing.close();
    expect(seen).toEqual(['POST', 'PUT']);
    expect(result).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringContaining('kinora: This upload is no longer accepting data.\n'),
    });
  });
});
