import { readFileSync, statSync } from 'node:fs';

export interface TlsFiles {
  /** PEM: the certificate, and those that vouch for it. */
  readonly certPath: string;
  readonly keyPath: string;
}

/** @throws Error if a file can't be read */
export const readTlsFiles = ({ certPath, keyPath }: TlsFiles): { cert: Buffer; key: Buffer } => ({
  cert: readFileSync(certPath),
  key: readFileSync(keyPath),
});

/** Changes when one of the files does. */
export const tlsFilesVersion = ({ certPath, keyPath }: TlsFiles): string =>
  [certPath, keyPath].map((path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs).join();
