// The programs that Kinora is compared with, as Debian packages them.
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

// nginx lives in /usr/sbin, which is not on everybody's path.
const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` };

export const hasProgram = (name) => spawnSync(name, ['-v'], { env, stdio: 'ignore' }).error === undefined;

export const versionOf = (name, flag) => {
  const { stdout, stderr, error } = spawnSync(name, [flag], { env, encoding: 'utf8' });
  return error ? 'missing' : (/\d+(\.\d+)+/.exec(stdout + stderr)?.[0] ?? 'of unknown version');
};

/**
 * CPU seconds of all children that have ended (proc_pid_stat(5), fields 16 and 17; 100 ticks a
 * second).
 */
const endedChildrenSeconds = () => {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ');
  return (Number(fields[13]) + Number(fields[14])) / 100;
};

/**
 * Starts a program; `ended` resolves to its wall time and CPU time. Only one may end at a time for
 * the CPU time to be its own.
 */
export const start = (name, args, { stdout = 'ignore' } = {}) => {
  const startedMs = performance.now();
  const cpuSeconds = endedChildrenSeconds();
  const child = spawn(name, args, { env, stdio: ['ignore', stdout, 'pipe'] });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const ended = new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      if (code !== 0 && !child.killed) reject(new Error(`${name} ended with ${code}: ${errors.slice(-2000)}`));
      else resolve({ ms: performance.now() - startedMs, cpuSeconds: endedChildrenSeconds() - cpuSeconds });
    });
  });
  return { pid: child.pid, stdout: child.stdout, startedMs, ended, stop: (signal = 'SIGTERM') => child.kill(signal) };
};

export const ffmpeg = (...args) => start('ffmpeg', ['-nostdin', '-hide_banner', '-v', 'error', '-y', ...args]);
