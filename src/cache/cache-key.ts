/** Names one computed file; `plan` separates versions so that caches never mix them. */
export interface CacheKey {
  readonly assetId: string;
  readonly plan: number;
  readonly rendition: string;
  /** `init.mp4`, `0.m4s`, `1.m4s` … */
  readonly file: string;
}

/**
 * The path of a cached file below the cache directory, without its digest; also its name in the
 * index.
 */
export const keyPath = (key: CacheKey): string => `${assetPath(key.assetId)}/${key.plan}/${key.rendition}/${key.file}`;

/** The directory of one asset. The first two characters spread assets over many directories. */
export const assetPath = (assetId: string): string => `${assetId.slice(0, 2)}/${assetId}`;

/** The asset of a path. */
export const assetOf = (path: string): string => path.split('/')[1]!;

/** The rendition of a path. */
export const renditionOf = (path: string): string => path.split('/')[3]!;

/** The name here of a rung of a broadcast, which is not made by the plan of the asset. */
export const liveRendition = (rung: string): string => `live-${rung}`;

export const isLiveRendition = (rendition: string): boolean => rendition.startsWith('live-');

/** Matches every version of the plan. */
export const isOfRendition = (path: string, assetId: string, rendition: string): boolean => {
  const prefix = `${assetPath(assetId)}/`;
  return path.startsWith(prefix) && path.slice(prefix.length).split('/')[1] === rendition;
};

const SEGMENT = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/**
 * Keys are built by Kinora, so a part that could leave the cache directory is a defect and not bad
 * input.
 */
export const assertSafeKey = (key: CacheKey): void => {
  for (const part of [key.assetId, key.rendition, key.file]) {
    if (!SEGMENT.test(part) || part.includes('..')) throw new Error(`unsafe cache key part: ${JSON.stringify(part)}`);
  }
};

/**
 * The digest of the content is part of a file's name, so the validator and the integrity check
 * survive a restart.
 */
export const storedName = (path: string, digest: string): string => `${path}~${digest}`;

const STORED = /^(?<path>[A-Za-z0-9][A-Za-z0-9._/-]*)~(?<digest>[0-9a-f]{32})$/;

export const parseStoredName = (name: string): { path: string; digest: string } | undefined => {
  const groups = STORED.exec(name)?.groups;
  return groups?.path && groups.digest ? { path: groups.path, digest: groups.digest } : undefined;
};
