// nginx with one worker, as a reference: what it serves is in the `server` block.
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { start } from './programs.mjs';

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** Serves `root`/www; `directives` belong to the server, `http` stands before it. */
export const startNginx = async (root, directives = '', { http = '', connections = 256 } = {}) => {
  const port = await freePort();
  const config = join(root, 'nginx.conf');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${root}/tmp;`,
  );
  await mkdir(join(root, 'tmp'), { recursive: true });
  await mkdir(join(root, 'www'), { recursive: true });
  await writeFile(
    config,
    `daemon off; master_process off; worker_processes 1; pid ${root}/nginx.pid; error_log ${root}/error.log; ${process.getuid() === 0 ? 'user root;' : ''}
events { worker_connections ${connections}; }
http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000; open_file_cache max=1000; default_type video/mp4;
${temporary.join(' ')}
${http}
server { listen 127.0.0.1:${port}; root ${root}/www; ${directives} } }`,
  );
  const { ended, stop, pid } = start('nginx', ['-p', root, '-c', config]);
  const url = `http://127.0.0.1:${port}`;
  while (!(await fetch(url).catch(() => undefined))) await delay(20);
  return {
    url,
    pid,
    stop: () => {
      stop('SIGQUIT');
      return ended;
    },
  };
};
