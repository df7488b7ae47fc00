import { describe, expect, it, vi } from 'vitest';
import type { MediaPool } from '../../pool/media-pool.js';
import type { LiveAudioInput, LiveAudioOutput } from '../../pool/protocol.js';
import { OpusToAac } from './opus-to-aac.js';

/** 20 ms. */
const PACKET = Buffer.of(0xfc, 1, 2);
const SAMPLES = 960;

const open = () => {
  const fed: LiveAudioInput['opus'][number][] = [];
  let output!: (output: LiveAudioOutput) => void;
  let resolveEnded!: (reason: string) => void;
  const ended = new Promise<string>((resolve) => {
    resolveEnded = resolve;
  });
  const pool = {
    open: (_job: unknown, onOutput: typeof output) => {
      output = onOutput;
      return {
        feed: (input: LiveAudioInput) => void fed.push(...input.opus),
        ended,
        close: async () => resolveEnded('killed'),
      };
    },
  } as unknown as Pick<MediaPool, 'open'>;
  const events = { frame: vi.fn(), failed: vi.fn() };
  const audio = new OpusToAac(pool, events);
  const push = (ticks: number, count: number): void => {
    for (let index = 0; index < count; index += 1) audio.push(ticks + index * SAMPLES, PACKET);
  };
  return { audio, events, fed, push, output: (value: unknown) => output(value as LiveAudioOutput), ended };
};

describe('Opus that becomes AAC', () => {
  it('has frames at the times of the packets, and fills gaps', () => {
    const { events, fed, push, output } = open();
    push(5000, 5);
    push(5000 + 5 * SAMPLES + 2400, 5);
    expect(fed).toEqual([
      ...Array(5).fill(PACKET.toString('base64')),
      2400,
      ...Array(5).fill(PACKET.toString('base64')),
    ]);
    output({ frames: ['AAAA', 'AAAA'] });
    output({ frames: ['AAAA'] });
    expect(events.frame.mock.calls.map(([ticks]) => ticks)).toEqual([5000, 6024, 7048]);
    expect(events.failed).not.toHaveBeenCalled();
  });

  it('ends where a pause or the clock of the encoder is too long to fill', () => {
    const { audio, push } = open();
    push(0, 5);
    expect(audio.isContinuedAt(5 * SAMPLES + 480_000)).toBe(true);
    expect(audio.isContinuedAt(5 * SAMPLES + 480_001)).toBe(false);
    expect(audio.isContinuedAt(5 * SAMPLES - 480_001)).toBe(false);
  });

  it.each<[string, unknown]>([
    ['more frames than were sent', { frames: Array(6).fill('AAAA') }],
    ['a huge frame', { frames: ['A'.repeat(5000)] }],
    ['no frames', {}],
    ['numbers', { frames: [1] }],
  ])('fails when its process says %s', (_name, said) => {
    const { events, push, output } = open();
    push(0, 5);
    output(said);
    expect(events.failed).toHaveBeenCalledOnce();
    expect(events.frame).not.toHaveBeenCalled();
  });

  it('does not fail when it is closed, and says nothing more', async () => {
    const { audio, events, push, output, ended } = open();
    push(0, 5);
    await audio.close();
    await ended;
    output({ frames: ['AAAA'] });
    expect(events.failed).not.toHaveBeenCalled();
    expect(events.frame).not.toHaveBeenCalled();
  });
});
