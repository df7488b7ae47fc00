import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

const DIRECTORIES = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin', '/run/current-system/sw/bin'];

/** The path of a system program; undefined when it is missing or not executable. */
export const findTool = (name: string): string | undefined =>
  DIRECTORIES.map((directory) => join(directory, name)).find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      // It may be in the next directory.
      return false;
    }
  });
