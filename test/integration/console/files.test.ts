import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, startApi } from '../../support/servers/api.js';
import { sendRaw } from '../../support/wire/raw-get.js';

const SCRIPT = 'console.log("app");'.repeat(50);
let api: Api;
let parent: string;

beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'kinora-console-'));
  const consoleDir = join(parent, 'app');
  await mkdir(join(consoleDir, 'files'), { recursive: true });
  await writeFile(join(parent, 'secret.txt'), 'outside');
  await writeFile(join(consoleDir, 'index.html'), '<!doctype html><title>App</title>');
  await writeFile(join(consoleDir, 'icon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
  await writeFile(join(consoleDir, 'files/app-1a2b.js'), SCRIPT);
  await writeFile(join(consoleDir, 'files/app-1a2b.js.br'), brotliCompressSync(SCRIPT));
  api = await startApi({ consoleDir, streamUrl: 'https://stream.example.com/live' });
});
afterAll(async () => {
  await api?.stop();
  await rm(parent, { recursive: true, force: true });
});

describe('the app', () => {
  it.each([
    '/console',
    '/console/',
    '/console/login',
    '/console/assets-list/abc',
    '/console/index.html',
    '/console/%00',
  ])('is the page at %s, with a strict policy', async (path) => {
    const response = await fetch(`${api.origin}${path}`);
    expect(await response.text()).toContain('<title>App</title>');
    const { headers } = response;
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('cache-control')).toBe('no-cache');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    const policy = Object.fromEntries(
      headers
        .get('content-security-policy')!
        .split('; ')
        .map((part) => part.split(/ (.*)/s).slice(0, 2)),
    );
    const own = `'self' ${api.origin} https://stream.example.com`;
    expect(policy).toEqual({
      'default-src': "'none'",
      'script-src': "'self'",
      'style-src': "'self'",
      'img-src': `${own} data: blob:`,
      'media-src': `${own} blob:`,
      'connect-src': own,
      'font-src': "'self'",
      'worker-src': "'self' blob:",
      'frame-src': own,
      'base-uri': "'none'",
      'form-action': "'self'",
      'frame-ancestors': "'none'",
    });
  });

  it('has files that are cached forever under their hashed names, compressed where the build did it', async () => {
    const path = '/console/files/app-1a2b.js';
    const response = await fetch(`${api.origin}${path}`, { headers: { 'accept-encoding': 'identity' } });
    expect(await response.text()).toBe(SCRIPT);
    expect(response.headers.get('content-type')).toMatch(/^(text|application)\/javascript/);
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    const packed = await sendRaw(api.origin, path, 'GET', { 'Accept-Encoding': 'br' });
    expect(packed.headers['content-encoding']).toBe('br');
    expect(packed.headers.vary).toMatch(/accept-encoding/i);
    expect(brotliDecompressSync(packed.body).toString()).toBe(SCRIPT);
    const icon = await fetch(`${api.origin}/console/icon.svg`);
    expect(icon.headers.get('content-type')).toBe('image/svg+xml');
    expect(icon.headers.get('cache-control')).toBe('no-cache');
    expect((await fetch(`${api.origin}/console/files/old-9f9f.js`)).status).toBe(404);
  });

  it.each([
    '/console/../secret.txt',
    '/console/%2e%2e/secret.txt',
    '/console/..%2fsecret.txt',
    '/console/files/..%2f..%2fsecret.txt',
    '/console/files/../../../secret.txt',
    '/console//etc/passwd',
    '/console/%2fetc%2fpasswd',
    '/console/..%5csecret.txt',
    '/console/files/%00/../../secret.txt',
    '/console/%',
  ])('never sends a file of another directory: %s', async (path) => {
    const { body, status } = await sendRaw(api.origin, path);
    expect(body.toString()).not.toMatch(/outside|root:/);
    expect([200, 404, 400]).toContain(status);
  });

  it('is where the root URL leads browsers; programs get a page', async () => {
    const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
    const led = await fetch(api.origin, { headers: browser, redirect: 'manual' });
    expect([led.status, led.headers.get('location')]).toEqual([302, '/console']);
    const program = await fetch(api.origin, { headers: { accept: '*/*' } });
    expect([program.status, await program.text()]).toEqual([200, expect.stringContaining('Kinora is running')]);
  });
});

it('a server without the app says how to build it', async () => {
  const bare = await startApi({ consoleDir: join(parent, 'missing') });
  const response = await fetch(`${bare.origin}/console/login`);
  await bare.stop();
  expect(response.status).toBe(503);
  expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(await response.text()).toContain('npm run build');
});
