import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findTool } from '#kinora/lib/find-tool.js';
import { freePort } from './free-port.js';
import { until } from './server-process.js';

export interface Nginx {
  readonly url: string;
  accessLog(): string;
  stop(): Promise<void>;
}

/** Its path; undefined where nginx is not installed. */
export const nginxPath = findTool('nginx');

/**
 * Requests of one address go to one server, or to the next one while that one does not answer. None
 * is left out for long, because during an update each of them stops for a moment.
 */
const serversOf = (urls: readonly string[]): string =>
  [
    ...(urls.length > 1 ? ['hash $uri consistent;'] : []),
    ...urls.map((url) => `server ${new URL(url).host} max_fails=0;`),
  ].join(' ');

/**
 * nginx with deploy/nginx/kinora.conf. Only ports, paths and TLS, which needs a certificate, are
 * replaced.
 */
export const startNginx = async (port: number, upstreams: string | readonly string[]): Promise<Nginx> => {
  const root = mkdtempSync(join(tmpdir(), 'kinora-nginx-'));
  mkdirSync(join(root, 'tmp'));
  const replaced: [RegExp, string][] = [
    [/server 127\.0\.0\.1:8080;/, serversOf([upstreams].flat())],
    [/listen 443 ssl http2;/, `listen 127.0.0.1:${port};`],
    [/listen 80;/, 'listen 127.0.0.1:0;'],
    [/ssl_certificate .*;/, ''],
    [/ssl_certificate_key .*;/, ''],
    [/\/var\/cache\/nginx\/kinora/, join(root, 'cache')],
    [/\/var\/log\/nginx\/kinora\.log/, join(root, 'access.log')],
  ];
  let site = readFileSync('deploy/nginx/kinora.conf', 'utf8');
  for (const [pattern, text] of replaced) {
    if (!pattern.test(site)) throw new Error(`deploy/nginx/kinora.conf no longer has ${pattern}`);
    site = site.replace(pattern, text);
  }
  // The redirect to TLS would need a port of its own.
  site = site.replace(/server \{\s*listen 127\.0\.0\.1:0;[^}]*\}/, '');
  writeFileSync(join(root, 'site.conf'), site);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(root, 'tmp', name)};`,
  );
  const main = [
    `pid ${join(root, 'nginx.pid')}; error_log ${join(root, 'error.log')};`,
    process.getuid?.() === 0 ? 'user root;' : '',
    `events {} http { ${temporary.join(' ')} include ${join(root, 'site.conf')}; }`,
  ].join('\n');
  writeFileSync(join(root, 'nginx.conf'), main);
  const args = ['-p', root, '-c', join(root, 'nginx.conf'), '-e', join(root, 'error.log')];
  execFileSync(nginxPath!, [...args, '-t'], { stdio: 'pipe' });
  const child = spawn(nginxPath!, [...args, '-g', 'daemon off; master_process off;'], { stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}`;
  await until('nginx answers', () =>
    fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return {
    url,
    accessLog: () => readFileSync(join(root, 'access.log'), 'utf8'),
    stop: async () => {
      child.kill('SIGQUIT');
      await once(child, 'exit');
      rmSync(root, { recursive: true, force: true });
    },
  };
};

const STREAM_MODULE = '/usr/lib/nginx/modules/ngx_stream_module.so';

export const hasNginxStream = nginxPath !== undefined && existsSync(STREAM_MODULE);

/**
 * nginx in front of RTMP and SRT, as docs/live.md describes it. `rtmp` and `srt` are for encoders.
 */
export const startNginxStream = async (
  upstreams: readonly { readonly rtmpPort: number; readonly srtPort: number }[],
): Promise<{ readonly rtmp: number; readonly srt: number; stop(): Promise<void> }> => {
  const root = mkdtempSync(join(tmpdir(), 'kinora-nginx-'));
  const [rtmp, srt] = [await freePort(), await freePort()];
  const described = /```nginx\n(stream \{[\s\S]*?)```/.exec(readFileSync('docs/live.md', 'utf8'))![1]!;
  const serversOf = (port: 'rtmpPort' | 'srtPort'): string =>
    upstreams.map((upstream) => `server 127.0.0.1:${upstream[port]};`).join(' ');
  const replace = (text: string, [from, to]: readonly [RegExp, string]): string => {
    if (!from.test(text)) throw new Error(`docs/live.md describes nginx otherwise: ${from}`);
    return text.replace(from, to);
  };
  const stream = (
    [
      [/(server 10\.0\.0\.\d+:1935;\s*)+/, serversOf('rtmpPort')],
      [/(server 10\.0\.0\.\d+:6001;\s*)+/, serversOf('srtPort')],
      [/listen 1935;/, `listen 127.0.0.1:${rtmp};`],
      [/listen 6001 udp;/, `listen 127.0.0.1:${srt} udp;`],
    ] as const
  ).reduce(replace, described);
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  const main = `load_module ${STREAM_MODULE}; pid ${join(root, 'pid')}; ${user} events {} ${stream}`;
  writeFileSync(join(root, 'nginx.conf'), main);
  const args = ['-p', root, '-c', join(root, 'nginx.conf'), '-e', join(root, 'error.log')];
  execFileSync(nginxPath!, [...args, '-t'], { stdio: 'pipe' });
  const child = spawn(nginxPath!, [...args, '-g', 'daemon off; master_process off;'], { stdio: 'ignore' });
  return {
    rtmp,
    srt,
    stop: async () => {
      child.kill('SIGTERM');
      await once(child, 'exit');
      rmSync(root, { recursive: true, force: true });
    },
  };
};
