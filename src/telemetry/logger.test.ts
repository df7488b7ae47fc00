import { describe, expect, it } from 'vitest';
import { KinoraError } from '../lib/errors.js';
import { createLogger } from './logger.js';

const capture = (level: 'debug' | 'info' | 'warn' | 'error' = 'info') => {
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger(level, 'json', { write: (line) => void lines.push(JSON.parse(line)) });
  return { lines, logger };
};

describe('createLogger', () => {
  it('writes the level as a word, the time and the bindings', () => {
    const { lines, logger } = capture();
    logger.child({ request_id: 'r1' }).info({ asset_id: 'a1' }, 'asset created');
    expect(lines).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/^\d{4}-.*Z$/),
        request_id: 'r1',
        asset_id: 'a1',
        msg: 'asset created',
      },
    ]);
  });

  it('drops what is below the level', () => {
    const { lines, logger } = capture('warn');
    logger.info({}, 'no');
    logger.warn({}, 'yes');
    expect(lines.map((line) => line.msg)).toEqual(['yes']);
  });

  it('hides secrets at any place a request or a configuration puts them', () => {
    const { lines, logger } = capture();
    logger.info(
      {
        token: 'hunter2',
        config: { token: 'hunter2', databaseUrl: 'hunter2' },
        req: { headers: { authorization: 'hunter2' } },
      },
      'x',
    );
    expect(JSON.stringify(lines)).not.toContain('hunter2');
    expect(JSON.stringify(lines).match(/\[secret\]/g)).toHaveLength(4);
  });

  it.each(['passphrase', 'srt_passphrase', 'srtPassphrase', 'stream_key', 'streamKey'])(
    'hides what encoders sign in with: %s',
    (name) => {
      const { lines, logger } = capture();
      logger.warn({ [name]: 'hunter2', live: { [name]: 'hunter2', id: 'l1' } }, 'x');
      expect(lines).toMatchObject([{ [name]: '[secret]', live: { [name]: '[secret]', id: 'l1' } }]);
    },
  );

  it('hides them in lists, errors and the bindings of children, and changes nothing else', () => {
    const { lines, logger } = capture();
    const fields = { list: [{ token: 'hunter2', kept: 1 }], none: undefined, token: undefined };
    logger.info(fields, 'x');
    const cause = new KinoraError('unavailable', { details: { attempt: 3 } });
    logger.error({ err: Object.assign(cause, { password: 'hunter2', nested: { secret: 'hunter2' } }) }, 'x');
    logger
      .child({ secret: 'hunter2' })
      .child({ config: { cookie: 'hunter2' } })
      .warn({}, 'x');
    expect(JSON.stringify(lines)).not.toContain('hunter2');
    expect(fields.list[0]!.token).toBe('hunter2');
    expect(lines).toMatchObject([
      { list: [{ token: '[secret]', kept: 1 }] },
      { err: { code: 'unavailable', details: { attempt: 3 }, password: '[secret]', nested: { secret: '[secret]' } } },
      { secret: '[secret]', config: { cookie: '[secret]' } },
    ]);
    expect(Object.keys(lines[0]!)).not.toContain('token');
  });

  it('writes an error with its code, details and causes', () => {
    const { lines, logger } = capture();
    const cause = new Error('connection reset');
    logger.error(
      { error: new KinoraError('source_unreachable', { cause, details: { attempt: 3 } }) },
      'download failed',
    );
    expect(lines[0]).toMatchObject({
      error: { code: 'source_unreachable', details: { attempt: 3 }, cause: { message: 'connection reset' } },
    });
  });
});
