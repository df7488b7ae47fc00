import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { findTool } from '#kinora/lib/find-tool.js';
import type { S3Settings } from '#kinora/storage/s3/object-client.js';
import { SHARED_SWIFT, type SharedSwift } from '../run-dir.js';
import { freePort } from './free-port.js';
import { until } from './server-process.js';

export interface Swift {
  readonly url: string;
  readonly settings: (bucket: string, endpoint?: string) => S3Settings;
  close(): Promise<void>;
}

export const swiftCredentials = { accessKeyId: 'test:tester', secretAccessKey: 'testing' };

const PROXY_FILTERS = [
  'catch_errors',
  'gatekeeper',
  'memcache:cache',
  'listing_formats',
  'bulk',
  's3api',
  'tempauth',
  'copy',
  'slo',
  'dlo',
  'symlink',
  'versioned_writes',
];
const FILTER_SETTINGS: Record<string, string> = {
  tempauth: 'user_test_tester = testing .admin',
  s3api: 'location = us-east-1\ns3_acl = false\nallow_multipart_uploads = true',
};

/** By default, Swift takes a device for broken, for a minute, if a busy machine makes it late. */
const LIMITS = `conn_timeout = 30\nnode_timeout = 60\ncontainer_update_timeout = 60\nerror_suppression_limit = 1000000\n`;

const defaults = (port: number, dir: string): string =>
  `[DEFAULT]\nbind_ip = 127.0.0.1\nbind_port = ${port}\nworkers = 1\nuser = swift\nswift_dir = ${dir}\n${LIMITS}`;

const proxyConfig = (port: number, dir: string, cachePort: number): string => {
  const names = PROXY_FILTERS.map((filter) => filter.split(':').at(-1)!);
  const filters = PROXY_FILTERS.map((filter) => {
    const [program, name = program] = filter.split(':') as [string, string?];
    const extra = name === 'cache' ? `memcache_servers = 127.0.0.1:${cachePort}` : (FILTER_SETTINGS[name] ?? '');
    return `[filter:${name}]\nuse = egg:swift#${program}\n${extra}\n`;
  });
  return `${defaults(port, dir)}[pipeline:main]\npipeline = ${names.join(' ')} proxy-server
[app:proxy-server]\nuse = egg:swift#proxy\naccount_autocreate = true\nallow_account_management = true\n${filters.join('')}`;
};

const storageConfig = (name: string, port: number, dir: string): string =>
  `${defaults(port, dir)}devices = ${dir}/node\nmount_check = false\nfallocate_reserve = 0\ndisable_fallocate = true
recon_cache_path = ${dir}/recon\n[pipeline:main]\npipeline = ${name}-server\n[app:${name}-server]\nuse = egg:swift#${name}\n`;

const HASH_CONFIG = `[swift-hash]\nswift_hash_path_suffix = kinora\nswift_hash_path_prefix = test
[storage-policy:0]\nname = Policy-0\ndefault = yes\n`;

/** As `swift-ring-builder` does; nine starts of that take seconds. */
const BUILD_RINGS = `
import json, sys
from swift.common.ring import RingBuilder
for name, port in json.loads(sys.argv[1]):
    builder = RingBuilder(4, 1, 1)
    builder.add_dev({'region': 1, 'zone': 1, 'ip': '127.0.0.1', 'port': port, 'device': 'sdb1', 'weight': 1})
    builder.rebalance()
    builder.get_ring().save(name + '.ring.gz')
`;

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.on('error', () => resolve(false)).on('connect', () => socket.destroy());
  });

/** Whether all servers work together: the account is made with the first container. */
const makesContainers = async (url: string): Promise<boolean> => {
  const { accessKeyId: user, secretAccessKey: key } = swiftCredentials;
  const { headers: granted } = await fetch(`${url}/auth/v1.0`, { headers: { 'x-auth-user': user, 'x-auth-key': key } });
  const headers = { 'x-auth-token': granted.get('x-auth-token')! };
  const container = `${granted.get('x-storage-url')}/first`;
  const made = await fetch(container, { method: 'PUT', headers });
  return made.ok && (await fetch(container, { method: 'DELETE', headers })).ok;
};

export const swiftPath = findTool('swift-proxy-server');

interface Launched {
  readonly url: string;
  readonly dir: string;
  readonly children: readonly ChildProcess[];
}

/** OpenStack Swift with its S3 interface, on ports of this machine: one device and one replica. */
const launch = async (): Promise<Launched> => {
  // Not in memory: Swift needs extended attributes, which tmpfs has since Linux 6.6.
  const dir = mkdtempSync('/var/tmp/kinora-swift-');
  const id = (what: string) => Number(execFileSync('id', [what, 'swift'], { encoding: 'utf8' }));
  mkdirSync('/etc/swift', { recursive: true });
  // The only file whose place Swift does not let choose.
  if (!existsSync('/etc/swift/swift.conf')) writeFileSync('/etc/swift/swift.conf', HASH_CONFIG);
  for (const folder of ['node/sdb1', 'recon']) mkdirSync(join(dir, folder), { recursive: true });
  const cachePort = await freePort();
  const children: ChildProcess[] = [];
  const run = (program: string, args: string[]): void => {
    const log = openSync(join(dir, `${program}.log`), 'a');
    children.push(spawn(program, args, { stdio: ['ignore', log, log] }));
  };
  const ports: number[] = [cachePort];
  const servers: [name: string, port: number][] = [];
  for (const name of ['account', 'container', 'object']) {
    const port = await freePort();
    ports.push(port);
    writeFileSync(join(dir, `${name}.conf`), storageConfig(name, port, dir));
    servers.push([name, port]);
  }
  // The Python that Swift is installed for.
  const [, python] = /^#! *(\S+)/.exec(readFileSync(swiftPath!, 'utf8'))!;
  execFileSync(python!, ['-c', BUILD_RINGS, JSON.stringify(servers)], { cwd: dir });
  const port = await freePort();
  ports.push(port);
  writeFileSync(join(dir, 'proxy.conf'), proxyConfig(port, dir, cachePort));
  for (const path of ['', 'node', 'node/sdb1', 'recon']) chownSync(join(dir, path), id('-u'), id('-g'));
  run('memcached', ['-u', 'swift', '-l', '127.0.0.1', '-p', String(cachePort), '-m', '32']);
  for (const name of ['account', 'container', 'object', 'proxy'])
    run(`swift-${name}-server`, [join(dir, `${name}.conf`), '--verbose']);
  const url = `http://127.0.0.1:${port}`;
  const isReady = async (): Promise<boolean> => {
    const isUp = await Promise.all(ports.map(accepts));
    return !isUp.includes(false) && (await makesContainers(url).catch(() => false));
  };
  await until('Swift makes containers', isReady).catch((error: Error) => {
    for (const child of children) child.kill();
    const logs = readdirSync(dir).filter((name) => name.endsWith('.log'));
    for (const name of logs) error.message += `\n${name}: ${readFileSync(join(dir, name), 'utf8').slice(-2000)}`;
    throw error;
  });
  return { url, dir, children };
};

const swiftAt = (url: string, close: () => Promise<void>): Swift => ({
  url,
  settings: (bucket, endpoint = url) => ({
    bucket,
    prefix: 'kinora',
    region: 'us-east-1',
    endpoint,
    pathStyle: true,
    credentials: swiftCredentials,
  }),
  close,
});

const startOwn = async (): Promise<Swift> => {
  const { url, dir, children } = await launch();
  // A program that fails may not get to close it.
  process.once('exit', () => {
    for (const child of children) child.kill();
  });
  return swiftAt(url, async () => {
    // One that has ended emits no further event.
    const running = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    const ended = running.map((child) => new Promise((resolve) => child.once('exit', resolve)));
    for (const child of running) child.kill();
    await Promise.all(ended);
    await rm(dir, { recursive: true, force: true });
  });
};

/**
 * The Swift of a test run. A start takes six seconds of CPU time, so the first file that needs it
 * starts it for all, and it runs until the run ends.
 */
const share = async (runDir: string): Promise<Swift> => {
  const file = join(runDir, SHARED_SWIFT);
  const tell = (told: SharedSwift): void => {
    writeFileSync(`${file}.new`, JSON.stringify(told));
    renameSync(`${file}.new`, file);
  };
  // Undefined when another process has made it.
  if (mkdirSync(join(runDir, 'swift'), { recursive: true }) !== undefined) {
    try {
      const { url, dir, children } = await launch();
      for (const child of children) child.unref();
      tell({ url, dir, pids: children.map(({ pid }) => pid!) });
    } catch (error) {
      tell({ error: String(error) });
    }
  }
  await until('the process that starts Swift is done', () => existsSync(file), 240_000);
  const told = JSON.parse(readFileSync(file, 'utf8')) as SharedSwift;
  if ('error' in told) throw new Error(told.error);
  return swiftAt(told.url, async () => {});
};

/**
 * Starts Swift, or returns the one of the test run: then each file needs buckets with names of its
 * own. `close` must always follow.
 */
export const startSwift = (): Promise<Swift> => {
  const runDir = process.env.TEST_RUN_DIR;
  return runDir === undefined ? startOwn() : share(runDir);
};
