import { createHash } from 'node:crypto';

/**
 * Orders servers by a hash of each one's ID and of what is looked for. All servers agree on the order without talking
 * to each other, and when one comes or goes, only its own share moves.
 */
export const rendezvous = <N extends { readonly id: string }>(nodes: readonly N[], key: string): N[] => {
  const weightOf = ({ id }: N): string => createHash('sha256').update(`${id} ${key}`).digest('hex');
  return nodes
    .map((node) => ({ node, weight: weightOf(node) }))
    .sort((a, b) => (a.weight < b.weight ? 1 : -1))
    .map(({ node }) => node);
};
