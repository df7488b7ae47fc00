import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

const DIRECTORIES = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin', '/run/current-system/sw/bin'];

/** The path of a program of the system; undefined when it is not there or not for us. */
export const findTool = (name: string): string | undefined =>
  DIRECTORIES.map((directory) => join(directory, name)).find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      // The next directory may have it.
      return false;
    }
  });
