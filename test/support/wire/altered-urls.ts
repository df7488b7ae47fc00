/** What becomes of the address of a signed segment that somebody alters. */

import { GENERATION } from '#kinora/media/plan/generation.js';

export interface SegmentAddress {
  readonly id: string;
  /** Of another asset. */
  readonly otherId: string;
  /** The path of the first segment of 270p, and its query. */
  readonly segment: string;
  readonly query: string;
  readonly token: string;
}

type Altered = SegmentAddress & { rendition(name: string): string };

/** The part of the path that names what the segment is made from. */
const PLAN = `/${GENERATION}/`;

const refused = '403 Token signature is invalid';
const bare = '403 Token is missing';
const unknown = '404 Not Found';
export const same = 'the segment itself';

const alterations: readonly [string, (of: Altered) => string, string][] = [
  ['as it is', (of) => `${of.segment}?${of.query}`, same],
  // Another spelling of the same address is that address.
  ['with escaped letters', (of) => `${of.rendition('%32%370p').replace(PLAN, `/%3${GENERATION}/`)}?${of.query}`, same],
  [
    'with an escaped name of its signature',
    (of) => `${of.segment}?${of.query.replace('signature', 'signatur%65')}`,
    same,
  ],
  ['with a slash behind it', (of) => `${of.segment}/?${of.query}`, same],
  ['with a window of nothing', (of) => `${of.segment}?segments=&${of.query}`, same],
  ['with a signature of nothing before its own', (of) => `${of.segment}?signature=x&${of.query}`, same],
  ['with another rendition', (of) => `${of.rendition('1080p')}?${of.query}`, refused],
  ['with a rendition of another case', (of) => `${of.rendition('270P')}?${of.query}`, refused],
  ['with a rendition of every object', (of) => `${of.rendition('constructor')}?${of.query}`, refused],
  ['with a rendition and NUL', (of) => `${of.rendition('270p%00')}?${of.query}`, refused],
  ['that climbs to another rendition', (of) => `${of.rendition('270p/../1080p')}?${of.query}`, bare],
  ['that climbs with escaped dots', (of) => `${of.rendition('270p/%2e%2e/1080p')}?${of.query}`, bare],
  ['that climbs with escaped slashes', (of) => `${of.rendition('270p%2f%2e%2e%2f1080p')}?${of.query}`, refused],
  ['whose file climbs', (of) => `${of.segment.replace('0.m4s', '..%2f1080p%2f0.m4s')}?${of.query}`, unknown],
  ['that climbs with backslashes', (of) => `${of.rendition('270p\\..\\1080p')}?${of.query}`, refused],
  ['with an overlong escape', (of) => `${of.rendition('270p/%c0%ae%c0%ae')}?${of.query}`, unknown],
  ['with a broken escape', (of) => `${of.segment}%zz?${of.query}`, unknown],
  ['with a doubled slash', (of) => `${of.segment.replace(PLAN, `/${PLAN}`)}?${of.query}`, bare],
  ['with a slash before it', (of) => `/${of.segment}?${of.query}`, unknown],
  ['with another plan', (of) => `${of.segment.replace(PLAN, `/${GENERATION + 1}/`)}?${of.query}`, refused],
  ['with the plan spelt with a zero', (of) => `${of.segment.replace(PLAN, `/0${GENERATION}/`)}?${of.query}`, refused],
  ['with the number spelt 00', (of) => `${of.segment.replace('0.m4s', '00.m4s')}?${of.query}`, unknown],
  ['with the number -1', (of) => `${of.segment.replace('0.m4s', '-1.m4s')}?${of.query}`, unknown],
  ['with a number behind the last', (of) => `${of.segment.replace('0.m4s', '9999.m4s')}?${of.query}`, unknown],
  ['with a parameter in its path', (of) => `${of.segment};a=b?${of.query}`, unknown],
  ['of another signed id', (of) => `${of.segment.replace(of.id, of.otherId)}?${of.query}`, refused],
  ['of its id in lower case', (of) => `${of.segment.replace(of.id, 'a'.repeat(40))}?${of.query}`, unknown],
  ['with a window', (of) => `${of.segment}?segments=0-1&${of.query}`, refused],
  ['with a second signature that is none', (of) => `${of.segment}?${of.query}&signature=x`, refused],
  ['with a second signature of nothing', (of) => `${of.segment}?${of.query}&signature=`, bare],
  ['with its signature in a list', (of) => `${of.segment}?${of.query.replace('=', '[]=')}`, bare],
  ['with a blank behind its signature', (of) => `${of.segment}?${of.query}+`, refused],
  ['with a line end behind its signature', (of) => `${of.segment}?${of.query}%0a`, refused],
  ['with its query behind a semicolon', (of) => `${of.segment}?x=1;${of.query}`, bare],
  ['with the token', (of) => `${of.segment}?token=${of.token}`, bare],
  ['for a thumbnail', (of) => `/${of.id}/thumbnail.jpg?${of.query}`, bare],
  ['for the playlist', (of) => `/${of.id}.m3u8?${of.query}`, bare],
];

/** Name, path and the expected status and message. `address` is asked when a test runs. */
export const alteredAddresses = (address: () => SegmentAddress): [string, () => string, string][] =>
  alterations.map(([name, alter, expected]) => [
    name,
    () => {
      const of = address();
      return alter({ ...of, rendition: (to) => of.segment.replace('270p', to) });
    },
    expected,
  ]);
