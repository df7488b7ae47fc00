import { expect, test } from 'vitest';
import { rendezvous } from './rendezvous.js';

const nodes = ['a', 'b', 'c', 'd'].map((id) => ({ id }));
const keys = Array.from({ length: 4000 }, (_, at) => `asset ${at}`);
const ownersAmong = (among: readonly { id: string }[]) => keys.map((key) => rendezvous(among, key)[0]!.id);

test('each server owns about the same share', () => {
  const owners = ownersAmong(nodes);
  for (const { id } of nodes) {
    const share = owners.filter((owner) => owner === id).length / keys.length;
    expect(share).toBeGreaterThan(0.22);
    expect(share).toBeLessThan(0.28);
  }
});

test('when a server goes, only its own share moves, to whoever was next', () => {
  const before = keys.map((key) => rendezvous(nodes, key).map(({ id }) => id));
  const after = ownersAmong(nodes.filter(({ id }) => id !== 'b'));
  expect(after).toEqual(before.map(([first, second]) => (first === 'b' ? second : first)));
});

test('the order of the list does not matter', () => {
  expect(keys.map((key) => rendezvous([...nodes].reverse(), key))).toEqual(keys.map((key) => rendezvous(nodes, key)));
});
