import { join } from 'node:path';

/** Says that a backup is complete, and of which kind it is. */
export interface Manifest {
  readonly format: 1;
  readonly database: 'pglite' | 'postgres';
  readonly created_at: string;
  /** Where the blobs are, if they are not in the backup. */
  readonly bucket?: string;
  /** It has the database and the token file alone. */
  readonly database_only?: true;
}

export const backupFiles = (directory: string) => ({
  manifest: join(directory, 'kinora-backup.json'),
  /** The data directory. */
  data: join(directory, 'data'),
  /** Only with an external PostgreSQL. */
  dump: join(directory, 'database.dump'),
  /** Only with blobs in S3: a line with size and key for each. */
  objects: join(directory, 'objects.tsv'),
});
