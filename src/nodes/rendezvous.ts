import { createHash } from 'node:crypto';

/**
 * Rendezvous (HRW) hashing: orders nodes by hash(node ID, key). All nodes agree on the order
 * without messages, and when one joins or leaves, only its own share of the keys moves.
 */
export const rendezvous = <N extends { readonly id: string }>(nodes: readonly N[], key: string): N[] => {
  const weightOf = ({ id }: N): string => createHash('sha256').update(`${id} ${key}`).digest('hex');
  return nodes
    .map((node) => ({ node, weight: weightOf(node) }))
    .sort((a, b) => (a.weight < b.weight ? 1 : -1))
    .map(({ node }) => node);
};
