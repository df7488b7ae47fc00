import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isKinoraError } from '../lib/errors.js';
import { type ConfigSources, loadConfig } from './load-config.js';

const load = (sources: Partial<ConfigSources> = {}) => loadConfig({ env: {}, ...sources });
const problemsOf = (sources: Partial<ConfigSources>): readonly string[] => {
  try {
    load(sources);
  } catch (error) {
    if (isKinoraError(error, 'config_invalid')) return error.messages;
    throw error;
  }
  return [];
};

describe('loadConfig', () => {
  it('gives the documented defaults', () => {
    const { config } = load({ env: { PATH: '/bin' } });
    expect(config).toMatchObject({
      dataDir: resolve('kinora-data'),
      host: '127.0.0.1',
      port: 8080,
      sample: true,
      allowPrivateSources: false,
      blobs: 'file',
      cacheSizeBytes: 10 * 2 ** 30,
      maxSourceBytes: 100 * 2 ** 30,
      mediaProcesses: availableParallelism(),
      logLevel: 'info',
      shutdownLimitMs: 30_000,
    });
    expect(config).not.toHaveProperty('publicUrl');
    expect(config).not.toHaveProperty('token');
  });

  it('prefers flag to environment to file to default', () => {
    const envFileText = '# local\nKINORA_PORT=1001\nKINORA_HOST="0.0.0.0"\nOTHER=x\n';
    const env = { KINORA_PORT: '1002', KINORA_LOG_LEVEL: 'warn' };
    const { config } = load({ flags: { KINORA_PORT: '1003' }, env, envFileText });
    expect(config).toMatchObject({ port: 1003, host: '0.0.0.0', logLevel: 'warn' });
    expect(load({ env, envFileText }).config.port).toBe(1002);
    expect(load({ envFileText }).config.port).toBe(1001);
  });

  it('lets an empty value count as not set', () => {
    expect(load({ env: { KINORA_PORT: '', KINORA_TOKEN: '' } }).config.port).toBe(8080);
  });

  it('takes a port or off for live streams', () => {
    expect(load().config).toMatchObject({ rtmpPort: 1935, rtmpsPort: 'off' });
    expect(load({ env: { KINORA_RTMP_PORT: 'off' } }).config.rtmpPort).toBe('off');
    expect(problemsOf({ env: { KINORA_RTMP_PORT: 'none' } })).toEqual([
      'KINORA_RTMP_PORT must be a whole number from 0 to 65535, not "none".',
    ]);
  });

  it.each([
    { KINORA_RTMPS_PORT: '1936' },
    { KINORA_RTMPS_PORT: '1936', KINORA_RTMPS_CERT: 'cert.pem' },
    { KINORA_RTMPS_CERT: 'cert.pem', KINORA_RTMPS_KEY: 'key.pem' },
  ])('refuses incomplete options of RTMPS: %o', (env) => {
    expect(problemsOf({ env })).toEqual([
      'KINORA_RTMPS_PORT, KINORA_RTMPS_CERT and KINORA_RTMPS_KEY must be set together.',
    ]);
    const whole = { KINORA_RTMPS_PORT: '1936', KINORA_RTMPS_CERT: 'cert.pem', KINORA_RTMPS_KEY: 'key.pem' };
    expect(load({ env: whole }).config).toMatchObject({ rtmpsPort: 1936, rtmpsCert: resolve('cert.pem') });
  });

  it.each([
    ['KINORA_WEBHOOK_URL', 'https://example.org/hooks'],
    ['KINORA_WEBHOOK_SECRET', '0123456789abcdef'],
  ])('refuses %s alone', (variable, value) => {
    expect(problemsOf({ env: { [variable]: value } })).toEqual([
      'KINORA_WEBHOOK_URL and KINORA_WEBHOOK_SECRET must be set together.',
    ]);
  });

  it.each([
    [{ KINORA_EDGE_ORIGIN: 'https://a.example' }, 'KINORA_EDGE_ORIGIN has no effect without KINORA_ROLES=edge.'],
    [{ KINORA_ROLES: 'edge,api' }, 'KINORA_ROLES: an edge has no other role, because it has no database.'],
    [{ KINORA_ROLES: 'edge' }, 'KINORA_ROLES=edge needs KINORA_EDGE_ORIGIN, the URL of the server to cache.'],
    [
      { KINORA_ROLES: 'edge', KINORA_EDGE_ORIGIN: 'https://a.example' },
      'KINORA_ROLES=edge needs KINORA_EDGE_SECRET: set it to the same value on this server and its origin.',
    ],
  ])('tells what an edge lacks: %j', (env, problem) => {
    expect(problemsOf({ env })).toEqual([problem]);
  });

  it('takes a program call apart without a shell', () => {
    const callOf = (value: string) => load({ env: { KINORA_SPEECH_COMMAND: value } }).config.speechCommand;
    expect(callOf(`whisper -m "/my models/a.bin" --prompt='{phrases}'  {audio}`)).toEqual([
      'whisper',
      '-m',
      '/my models/a.bin',
      '--prompt={phrases}',
      '{audio}',
    ]);
    for (const value of ['whisper file.wav', 'whisper "{audio}', "'"]) {
      expect(problemsOf({ env: { KINORA_SPEECH_COMMAND: value } })).toEqual([
        expect.stringContaining('must be a program and its arguments, with {audio}'),
      ]);
    }
  });

  it('takes one recognizer of speech, and never repeats its key', () => {
    const [url, command] = ['http://127.0.0.1:8000/v1', 'whisper {audio}'];
    const both = problemsOf({ env: { KINORA_SPEECH_URL: url, KINORA_SPEECH_COMMAND: command } });
    expect(both).toEqual(['KINORA_SPEECH_URL and KINORA_SPEECH_COMMAND cannot be combined: set only one of them.']);
    const modelToo = problemsOf({ env: { KINORA_SPEECH_MODEL: 'base', KINORA_SPEECH_COMMAND: command } });
    expect(modelToo).toEqual([
      'KINORA_SPEECH_COMMAND and KINORA_SPEECH_MODEL cannot be combined: set only one of them.',
    ]);
    const keyAlone = problemsOf({ env: { KINORA_SPEECH_KEY: 'sk-1' } });
    expect(keyAlone).toEqual(['KINORA_SPEECH_KEY has no effect without KINORA_SPEECH_URL.']);
    const wrongKey = problemsOf({ env: { KINORA_SPEECH_URL: url, KINORA_SPEECH_KEY: 'sk one' } });
    expect(wrongKey).toEqual(['KINORA_SPEECH_KEY must be printable ASCII characters without spaces.']);
  });

  it.each([
    ['KINORA_AI_URL', 'http://127.0.0.1:11434'],
    ['KINORA_AI_MODEL', 'small'],
    ['KINORA_AI_VISION_MODEL', 'small'],
  ])('refuses %s alone', (variable, value) => {
    expect(problemsOf({ env: { [variable]: value } })).toEqual([
      'KINORA_AI_URL and KINORA_AI_MODEL or KINORA_AI_VISION_MODEL must be set together.',
    ]);
  });

  it('says which lines of .env are no assignments, without repeating them', () => {
    const envFileText =
      'KINORA_PORT=1\nsecret-of-someone\n\n# fine\nexport KINORA_HOST=::1\n  KINORA_SAMPLE = false\nKINORA_PORT: 2';
    const sentence = (line: number) =>
      `Line ${line} of .env is not an assignment; write NAME=value, or start the line with #.`;
    expect(problemsOf({ envFileText })).toEqual([sentence(2), sentence(7)]);
    expect(problemsOf({ envFileText: 'KEY="first\nsecond\n"\nOTHER=\'it\nnot' })).toEqual([sentence(5)]);
  });

  it.each([
    [{ KINORA_DATADIR: '/x' }, 'KINORA_DATADIR is not an option of Kinora; did you mean KINORA_DATA_DIR?'],
    [{ KINORA_CACHE_SIZ: '1' }, 'KINORA_CACHE_SIZ is not an option of Kinora; did you mean KINORA_CACHE_SIZE?'],
    [{ KINORA_PORT: '70000' }, 'KINORA_PORT must be a whole number from 0 to 65535, not "70000".'],
    [{ KINORA_SAMPLE: 'maybe' }, 'KINORA_SAMPLE must be true or false, not "maybe".'],
    [
      { KINORA_HOST: 'http://x' },
      'KINORA_HOST must be a host name or an IP address without scheme and port, not "http://x".',
    ],
    [{ KINORA_LOG_FORMAT: 'xml' }, 'KINORA_LOG_FORMAT must be one of pretty, json, not "xml".'],
    [{ KINORA_SHUTDOWN_LIMIT: '25h' }, 'KINORA_SHUTDOWN_LIMIT must be at most 24h, not "25h".'],
    [{ KINORA_SHUTDOWN_LIMIT: '30' }, 'KINORA_SHUTDOWN_LIMIT must be a duration such as 500ms, 30s or 5m, not "30".'],
    [{ KINORA_MEDIA_PROCESSES: '0' }, 'KINORA_MEDIA_PROCESSES must be a whole number from 1 to 256, not "0".'],
    [{ KINORA_USER_AGENT: 'a\r\nb: c' }, 'KINORA_USER_AGENT must be printable ASCII text, not "a\\r\\nb: c".'],
  ])('refuses %o', (env, sentence) => {
    expect(problemsOf({ env })).toEqual([sentence]);
  });

  it('names a flag as the user wrote it, and says where a wrong line of .env stands', () => {
    expect(problemsOf({ flags: { KINORA_PORT: 'x' } })).toEqual([
      '--port must be a whole number from 0 to 65535, not "x".',
    ]);
    expect(problemsOf({ flags: { KINORA_PORT: '' } })).toEqual(['--port needs a value.']);
    expect(problemsOf({ envFileText: 'KINORA_PROT=1' })).toEqual([
      'KINORA_PROT in .env is not an option of Kinora; did you mean KINORA_PORT?',
    ]);
  });

  it('tells every problem at once', () => {
    expect(problemsOf({ flags: { KINORA_PORT: 'x' }, env: { KINORA_SAMPLE: 'x', KINORA_X: 'x' } })).toHaveLength(3);
  });

  it.each([
    ['1', 1],
    ['10GiB', 10 * 2 ** 30],
    ['1.5 MiB', 1.5 * 2 ** 20],
    ['500MB', 500e6],
    ['2tib', 2 * 2 ** 40],
  ])('reads the size %s', (size, bytes) => {
    expect(load({ env: { KINORA_CACHE_SIZE: size } }).config.cacheSizeBytes).toBe(bytes);
  });

  it.each(['0', '-1', '10 GiBs', 'GiB', '1e3', '9999999TiB', '10G'])('refuses the size %s', (size) => {
    expect(problemsOf({ env: { KINORA_CACHE_SIZE: size } })).toHaveLength(1);
  });

  it('reads CIDR lists', () => {
    const read = (value: string) => load({ env: { KINORA_ALLOW_PRIVATE_SOURCES: value } }).config.allowPrivateSources;
    expect(read('true')).toBe(true);
    expect(read('false')).toBe(false);
    expect(read('10.0.0.0/8, fd00::/8,127.0.0.1,::1')).toEqual(['10.0.0.0/8', 'fd00::/8', '127.0.0.1/32', '::1/128']);
    for (const bad of ['10.0.0.0/33', '10.0.0/8', 'fd00::/129', 'localhost', '10.0.0.0/8/8', '10.0.0.0/', ','])
      expect(problemsOf({ env: { KINORA_ALLOW_PRIVATE_SOURCES: bad } }), bad).toHaveLength(1);
  });

  it('reads addresses without the slash at their end', () => {
    const read = (value: string) => load({ env: { KINORA_PUBLIC_URL: value } }).config.publicUrl;
    expect(read('https://video.example.org/')).toBe('https://video.example.org');
    expect(read('http://[::1]:8080/a/')).toBe('http://[::1]:8080/a');
    for (const bad of ['video.example.org', 'ftp://x', 'https://u:p@x', 'https://x/?q', 'https://x/#h'])
      expect(problemsOf({ env: { KINORA_PUBLIC_URL: bad } }), bad).toHaveLength(1);
  });

  it('reads where encoders send, with the name of the application', () => {
    const read = (value: string) => load({ env: { KINORA_RTMP_URL: value } }).config.rtmpUrl;
    expect(read('rtmps://live.example.org:1936/app/')).toBe('rtmps://live.example.org:1936/app');
    for (const bad of [
      'live.example.org',
      'https://live.example.org/app',
      'rtmp://a:b@example.org/app',
      'rtmp://h/app?x',
    ])
      expect(problemsOf({ env: { KINORA_RTMP_URL: bad } }), bad).toHaveLength(1);
  });

  it('reads a token and never repeats a secret', () => {
    const token = '6f0a2a3e-3b0e-4a8c-9b1d-2d5a6c7e8f90:s3cret:with:colons';
    expect(load({ env: { KINORA_TOKEN: token } }).config.token).toBe(token);
    for (const env of [
      { KINORA_TOKEN: 'hunter2' },
      { KINORA_DATABASE_URL: 'mysql://u:hunter2@h/d' },
      { KINORA_S3_SECRET_ACCESS_KEY: 'hunter2' },
      { KINORA_S3_SECRET_ACCESS_KEY: 'hunter2 with a space' },
    ]) {
      const problems = problemsOf({ env });
      expect(problems).toHaveLength(1);
      expect(problems[0]).not.toContain('hunter2');
    }
  });

  it('reads the place of blobs', () => {
    expect(load({ env: { KINORA_BLOBS: 'file' } }).config.blobs).toBe('file');
    const places = {
      's3://videos': '',
      's3://videos/': '',
      's3://videos/a/b.c': 'a/b.c',
      's3://videos/a/b.c/': 'a/b.c',
    };
    for (const [value, prefix] of Object.entries(places))
      expect(load({ env: { KINORA_BLOBS: value } }).config.blobs).toEqual({ bucket: 'videos', prefix });
    for (const value of [
      's3',
      's3://',
      's3:///a',
      's3://Videos',
      's3://videos/../a',
      's3://videos//a',
      's3://videos/a b',
    ])
      expect(problemsOf({ env: { KINORA_BLOBS: value } })[0]).toContain('must be file or s3://bucket/prefix');
  });

  it('says what is wrong with the name of a bucket', () => {
    for (const value of ['s3://b/p', 's3://b', `s3://${'a'.repeat(64)}/p`, 's3://-videos'])
      expect(problemsOf({ env: { KINORA_BLOBS: value } })[0]).toContain(
        'in a bucket whose name has 3 to 63 characters',
      );
  });

  it('refuses settings of S3 that would have no effect', () => {
    const blobs = { KINORA_BLOBS: 's3://videos' };
    const id = { KINORA_S3_ACCESS_KEY_ID: 'id' };
    expect(problemsOf({ env: { ...blobs, ...id } })[0]).toContain('must be set together');
    expect(problemsOf({ env: { ...blobs, ...id, KINORA_S3_SECRET_ACCESS_KEY: 'secret' } })).toEqual([]);
    expect(problemsOf({ flags: { KINORA_S3_ENDPOINT: 'https://s3.example.org' } })[0]).toContain('have no effect');
    expect(problemsOf({ env: { ...blobs, KINORA_S3_ENDPOINT: 's3.example.org' } })[0]).toContain('must be a URL');
  });
});
