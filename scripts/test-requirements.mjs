// What the tests need beside npm packages. On Debian as root it is installed (unless
// TEST_INSTALL=0); elsewhere a line says what is missing and which suites are left out for it. With
// CI=true nothing may be missing.
import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];
const isInstalled = (program) =>
  folders.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });

const needs = [
  {
    program: 'pg_virtualenv',
    packages: ['postgresql', 'postgresql-common'],
    suites: 'everything on an external PostgreSQL',
  },
  { program: 'chromium', packages: ['chromium'], suites: 'playback in a real browser' },
  {
    program: 'chromium-headless-shell',
    packages: ['chromium-headless-shell'],
    suites: 'no suite; all browser tests use the full browser, which is slower',
  },
  { program: 'bwrap', packages: ['bubblewrap'], suites: 'the strongest sandbox of the media processes' },
  {
    program: 'pocketsphinx_continuous',
    packages: ['pocketsphinx', 'pocketsphinx-en-us'],
    suites: 'recognition of real speech',
  },
  {
    program: 'ffmpeg',
    packages: ['ffmpeg'],
    suites: 'voices of real speech, playback with ffmpeg, unusual times, embedded tracks, pairs of mono streams',
  },
  { program: 'nginx', packages: ['nginx-light'], suites: 'the shipped nginx configuration' },
  {
    program: 'nginx',
    file: '/usr/lib/nginx/modules/ngx_stream_module.so',
    packages: ['libnginx-mod-stream'],
    suites: 'nginx in front of RTMP',
  },
  { program: 'caddy', packages: ['caddy'], suites: 'the shipped Caddy configuration' },
  {
    program: 'swift-proxy-server',
    packages: ['swift-proxy', 'swift-account', 'swift-container', 'swift-object', 'memcached'],
    suites: 'storage in S3',
  },
  { program: 'promtool', packages: ['prometheus'], suites: 'the shipped alert rules' },
  { program: 'systemd-analyze', packages: ['systemd'], suites: 'the shipped systemd unit' },
  { program: 'zsh', packages: ['zsh'], suites: 'completion of commands in zsh' },
  { program: 'fish', packages: ['fish'], suites: 'completion of commands in fish' },
  { program: 'python3', packages: ['python3-minimal'], suites: 'the Python samples of the API page' },
  { program: 'flock', packages: ['util-linux'], suites: 'the lock of the data directory (the server needs it too)' },
];
const missing = () => needs.filter(({ program, file }) => !isInstalled(program) || (file && !existsSync(file)));

const canInstall = process.getuid?.() === 0 && existsSync('/etc/debian_version') && isInstalled('apt-get');
if (missing().length > 0 && canInstall && process.env.TEST_INSTALL !== '0') {
  const apt = (...args) =>
    execFileSync('apt-get', ['-q', '-y', ...args], {
      stdio: 'inherit',
      // Programs are needed, not services: nothing is started.
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', SYSTEMD_OFFLINE: '1' },
    });
  try {
    apt('update');
    apt('install', '--no-install-recommends', ...missing().flatMap(({ packages }) => packages));
  } catch (error) {
    console.error(`Installing failed: ${error.message}`);
  }
}

for (const { program, packages, suites } of missing()) {
  console.error(`MISSING ${program} (Debian: apt-get install ${packages.join(' ')}): left out: ${suites}.`);
}
if (missing().length > 0 && process.env.CI === 'true') process.exitCode = 1;
