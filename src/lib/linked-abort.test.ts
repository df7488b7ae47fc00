import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { createLinkedAbort } from './linked-abort.js';

describe('a linked abort', () => {
  it('aborts with the reason of its parent, also of one that has aborted before', () => {
    const parent = new AbortController();
    const before = createLinkedAbort(parent.signal);
    expect(before.signal.aborted).toBe(false);
    parent.abort('over');
    const after = createLinkedAbort(parent.signal);
    for (const { signal, isLate } of [before, after]) {
      expect([signal.aborted, signal.reason, isLate]).toEqual([true, 'over', false]);
    }
  });

  it('aborts by itself and leaves its parent alone', () => {
    const parent = new AbortController();
    const linked = createLinkedAbort(parent.signal);
    linked.abort('enough');
    expect(linked.signal.reason).toBe('enough');
    expect(parent.signal.aborted).toBe(false);
    parent.abort();
    expect(linked.signal.reason).toBe('enough');
  });

  it('aborts when its time is over, without a parent too', () => {
    vi.useFakeTimers();
    try {
      const linked = createLinkedAbort(undefined, 5000);
      vi.advanceTimersByTime(4999);
      expect([linked.signal.aborted, linked.isLate]).toEqual([false, false]);
      vi.advanceTimersByTime(1);
      expect([linked.signal.aborted, linked.isLate]).toEqual([true, true]);
      expect(linked.signal.reason).toMatchObject({ name: 'TimeoutError' });
    } finally {
      vi.useRealTimers();
    }
  });

  it('ends what is left of its work when it is disposed of, and leaves nothing behind', () => {
    vi.useFakeTimers();
    try {
      const parent = new AbortController();
      let signal: AbortSignal;
      {
        using linked = createLinkedAbort(parent.signal, 5000);
        signal = linked.signal;
        expect(signal.aborted).toBe(false);
        expect(getEventListeners(parent.signal, 'abort')).toHaveLength(1);
        expect(vi.getTimerCount()).toBe(1);
      }
      expect([signal.aborted, parent.signal.aborted]).toEqual([true, false]);
      expect(getEventListeners(parent.signal, 'abort')).toHaveLength(0);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});
