import { expect, it } from 'vitest';
import { type Message, SendQueue } from './send-queue.js';

let atMs = 0;
const message = (kind: Message['kind'], { isKey = false, bytes = 10, text = '' } = {}): Message => ({
  ...{ kind, isKey, atMs },
  timestamp: atMs,
  body: text ? Buffer.from(text) : new Uint8Array(bytes),
});
const key = (bytes?: number): Message => message('video', { isKey: true, ...(bytes !== undefined && { bytes }) });
const video = (): Message => message('video');
const audio = (): Message => message('audio');
const header = (kind: Message['kind'], text: string): Message => message(kind, { text });

/** What would be sent, as words: headers with their text, frames with their time. */
const drain = (queue: SendQueue): string[] => {
  const sent: string[] = [];
  for (let frames = queue.next(); frames; frames = queue.next())
    sent.push(
      ...frames.map(({ kind, isKey, timestamp, body }) =>
        kind === 'video' || kind === 'audio'
          ? `${isKey ? 'key' : kind} ${timestamp}`
          : `${Buffer.from(body).toString()} ${timestamp}`,
      ),
    );
  return sent;
};

const opened = (): SendQueue => {
  atMs = 0;
  const queue = new SendQueue();
  for (const [kind, text] of [
    ['video-config', 'avc'],
    ['audio-config', 'aac'],
    ['metadata', 'meta'],
  ] as const)
    queue.push(header(kind, text));
  return queue;
};

it('begins with headers and a key frame, and keeps audio from the first on', () => {
  const queue = opened();
  queue.push(audio());
  atMs = 40;
  queue.push(video());
  queue.push(key());
  atMs = 80;
  queue.push(video());
  expect(drain(queue)).toEqual(['meta 0', 'avc 0', 'aac 0', 'audio 0', 'key 40', 'video 80']);
  expect(queue.bytes).toBe(0);
});

it('sends a changed header before the next frame, and no other again', () => {
  const queue = opened();
  queue.push(key());
  drain(queue);
  queue.push(header('video-config', 'avc-2'));
  atMs = 40;
  queue.push(audio());
  queue.push(key());
  expect(drain(queue)).toEqual(['avc-2 40', 'audio 40', 'key 40']);
});

it('drops up to the next key frame after 4 s, with a header that changed in between', () => {
  const queue = opened();
  queue.push(key());
  drain(queue);
  for (atMs = 1000; atMs <= 5000; atMs += 1000) {
    if (atMs === 2000) queue.push(header('audio-config', 'aac-2'));
    expect(queue.push(atMs === 3000 ? key() : video())).toBe(true);
  }
  expect(queue.push(video())).toBe(false);
  expect(drain(queue)).toEqual(['aac-2 3000', 'key 3000', 'video 4000', 'video 5000', 'video 6000']);
});

it('drops all, and waits for a key frame, when none is there', () => {
  const queue = opened();
  queue.push(key());
  atMs = 4001;
  expect(queue.push(video())).toBe(false);
  expect(queue.push(audio())).toBe(true);
  expect(queue.push(video())).toBe(true);
  expect(drain(queue)).toEqual([]);
  queue.push(key());
  queue.push(audio());
  expect(drain(queue)).toEqual(['meta 4001', 'avc 4001', 'aac 4001', 'key 4001', 'audio 4001']);
});

it('never holds more than 8 MiB, whatever the frames are', () => {
  const queue = opened();
  const most = 8 * 2 ** 20;
  expect(queue.push(key(most))).toBe(false);
  for (let round = 0; round < 10; round++) {
    queue.push(key(3 * 2 ** 20));
    queue.push(message('video', { bytes: 2 * 2 ** 20 }));
    expect(queue.bytes).toBeLessThanOrEqual(most);
  }
  for (let round = 0; round < 100_000; round++) queue.push(message('audio', { bytes: 1 }));
  expect(queue.bytes).toBeLessThanOrEqual(most);
});

it('drops audio without video when it is full, and goes on at once', () => {
  atMs = 0;
  const queue = new SendQueue();
  queue.push(header('audio-config', 'aac'));
  queue.push(audio());
  atMs = 4001;
  expect(queue.push(audio())).toBe(false);
  expect(queue.push(audio())).toBe(true);
  expect(drain(queue)).toEqual(['aac 4001', 'audio 4001']);
});

it('begins again at the latest possible key frame, with all headers, for another connection', () => {
  const queue = opened();
  queue.push(key());
  drain(queue);
  atMs = 1000;
  queue.push(video());
  queue.push(audio());
  queue.push(key());
  queue.push(video());
  queue.restart();
  expect(drain(queue.copy())).toEqual(['meta 1000', 'avc 1000', 'aac 1000', 'key 1000', 'video 1000']);
  drain(queue);
  queue.push(video());
  queue.restart();
  queue.push(video());
  expect(drain(queue)).toEqual([]);
});
