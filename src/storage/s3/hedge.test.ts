import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { Hedge } from './hedge.js';

/** Requests whose responses and clock the test decides. */
const setUp = (maxShare = 0.05) => {
  let now = 0;
  const sent: { response: (value: string) => void; fail: (error: Error) => void; signal: AbortSignal }[] = [];
  const waits: { ms: number; elapse: () => void }[] = [];
  const hedge = new Hedge({
    maxShare,
    nowMs: () => now,
    wait: (ms, signal) =>
      new Promise<void>((resolve, reject) => {
        waits.push({ ms, elapse: resolve });
        signal.addEventListener('abort', () => reject(new Error('stopped')));
      }),
  });
  const send = (signal: AbortSignal) =>
    new Promise<string>((response, fail) => {
      sent.push({ response, fail, signal });
    });
  const take = async (afterMs: number): Promise<void> => {
    const result = hedge.run(send);
    now += afterMs;
    sent.at(-1)!.response('usual');
    await result;
  };
  const settle = () => new Promise(setImmediate);
  return { hedge, send, sent, waits, take, settle };
};

describe('a request whose answer is late', () => {
  it('is sent once while nothing is known of the others', async () => {
    const { take, waits } = setUp();
    for (let n = 0; n < 20; n += 1) await take(50);
    expect(waits).toEqual([]);
  });

  it('is sent again after the time that 95 % of the others took, and the first answer is taken', async () => {
    const { hedge, send, sent, waits, take, settle } = setUp();
    for (let n = 0; n < 19; n += 1) await take(50);
    await take(400);
    const result = hedge.run(send);
    expect(waits).toHaveLength(1);
    expect(waits[0]!.ms).toBe(400);
    await settle();
    expect(sent).toHaveLength(21);
    waits[0]!.elapse();
    await settle();
    expect(sent).toHaveLength(22);
    sent[21]!.response('second');
    expect((await result).response).toBe('second');
    expect(sent[20]!.signal.aborted).toBe(true);
    expect(sent[21]!.signal.aborted).toBe(false);
  });

  it('fails only when both fail', async () => {
    const { hedge, send, sent, waits, take, settle } = setUp();
    for (let n = 0; n < 40; n += 1) await take(50);
    const both = async (): Promise<Promise<string>[]> => {
      const result = hedge.run(send).then(({ response }) => response);
      waits.at(-1)!.elapse();
      await settle();
      return [result];
    };
    const [one] = await both();
    sent.at(-2)!.fail(new Error('first'));
    sent.at(-1)!.response('second');
    expect(await one).toBe('second');
    const [other] = await both();
    sent.at(-1)!.fail(new Error('second'));
    sent.at(-2)!.fail(new Error('first'));
    await expect(other).rejects.toThrow('first');
  });

  it('is not sent again more often than allowed, however slow the answers are', async () => {
    const { hedge, send, sent, waits, take, settle } = setUp();
    for (let n = 0; n < 20; n += 1) await take(50);
    const before = sent.length;
    for (let n = 0; n < 1000; n += 1) {
      const result = hedge.run(send);
      waits.at(-1)!.elapse();
      await settle();
      sent.at(-1)!.response('late');
      await result;
    }
    expect(sent.length - before).toBeGreaterThan(1030);
    expect(sent.length - before).toBeLessThanOrEqual(1055);
  });

  it('ends with its caller', async () => {
    const { hedge, send, sent } = setUp();
    const stopped = new AbortController();
    void hedge.run(send, stopped.signal);
    stopped.abort();
    expect(sent[0]!.signal.aborted).toBe(true);
  });

  it('follows its caller until the answer was read, and leaves nothing behind', async () => {
    const { hedge, send, sent, waits, take, settle } = setUp();
    for (let n = 0; n < 40; n += 1) await take(50);
    const { signal } = new AbortController();
    const links = () => getEventListeners(signal, 'abort').length;
    const late = hedge.run(send, signal);
    waits.at(-1)!.elapse();
    await settle();
    expect(links()).toBe(2);
    sent.at(-1)!.response('second');
    const taken = await late;
    expect(links()).toBe(1);
    taken[Symbol.dispose]();
    expect(links()).toBe(0);
    const failing = hedge.run(send, signal);
    sent.at(-1)!.fail(new Error('failed'));
    await expect(failing).rejects.toThrow('failed');
    expect(links()).toBe(0);
  });
});
