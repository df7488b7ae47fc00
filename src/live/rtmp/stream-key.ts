/** Keys of other services have up to 100 characters. */
const MAX_KEY_LENGTH = 255;

/**
 * The stream key of a publisher: the name that it publishes, without a query. If the name is empty,
 * the key may be the end of the application (`app/key`), as with encoders that ask for one URL.
 * Undefined when there is none.
 */
export const streamKeyOf = (app: string, name: string): string | undefined => {
  const key = lastSegment(name) ?? (appSegments(app).length > 1 ? lastSegment(app) : undefined);
  return key !== undefined && key.length <= MAX_KEY_LENGTH ? key : undefined;
};

const appSegments = (path: string): string[] => withoutQuery(path).split('/').filter(Boolean);

const lastSegment = (path: string): string | undefined => appSegments(path).at(-1);

const withoutQuery = (path: string): string => path.replace(/\?.*/s, '');
