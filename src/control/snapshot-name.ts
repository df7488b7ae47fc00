/** Names of copies of the database for backups; they are removed when their caller disconnects. */
export const SNAPSHOT = 'snapshot-';
export const isSnapshot = (name: string): boolean => name.startsWith(SNAPSHOT);
