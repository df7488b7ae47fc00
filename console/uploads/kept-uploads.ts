/**
 * Uploads that have begun, in the browser's storage: after a reload the same file continues where
 * the server has it. The file itself can't be kept; the person chooses it again.
 */
const KEY = 'kinora.uploads';

interface KeptUpload {
  readonly uploadId: string;
  /** The path and query of its tus URL. */
  readonly path: string;
  readonly name: string;
  readonly size: number;
  /** Bytes that were sent when it was last looked at. */
  readonly sent: number;
  readonly environmentId: string;
}

type Kept = Record<string, KeptUpload>;

/** What tells a file from others without reading it. */
export const fingerprintOf = ({ name, size, lastModified }: File, environmentId: string): string =>
  `${environmentId}/${name}/${size}/${lastModified}`;

const read = (): Kept => {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? '{}') as Kept;
  } catch {
    return {};
  }
};

export const keptUploads = {
  list: (environmentId: string): readonly (KeptUpload & { readonly fingerprint: string })[] =>
    Object.entries(read())
      .filter(([, upload]) => upload.environmentId === environmentId)
      .map(([fingerprint, upload]) => ({ ...upload, fingerprint })),
  find: (fingerprint: string): KeptUpload | undefined => read()[fingerprint],
  keep: (fingerprint: string, upload: KeptUpload): void =>
    localStorage.setItem(KEY, JSON.stringify({ ...read(), [fingerprint]: upload })),
  forget: (fingerprint: string): void => {
    const { [fingerprint]: _, ...others } = read();
    localStorage.setItem(KEY, JSON.stringify(others));
  },
};
