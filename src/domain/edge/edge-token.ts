import { hkdfSync, timingSafeEqual } from 'node:crypto';

/** The request header with which an edge identifies itself. */
export const EDGE_HEADER = 'x-kinora-edge';

/** Derived from the shared secret, which itself is never sent. */
export const edgeToken = (edgeSecret: string): string =>
  Buffer.from(hkdfSync('sha256', edgeSecret, '', 'requests of edges', 32)).toString('base64url');

/** Whether a request comes from an edge. */
export const createIsEdge = (edgeSecret: string | undefined): ((header: unknown) => boolean) => {
  if (edgeSecret === undefined) return () => false;
  const expected = Buffer.from(edgeToken(edgeSecret));
  return (header) => {
    const sent = Buffer.from(typeof header === 'string' ? header : '');
    return sent.length === expected.length && timingSafeEqual(sent, expected);
  };
};
