import { closeSync, constants, openSync } from 'node:fs';
import { join } from 'node:path';

/** The socket through which commands talk to the running server. */
const CONTROL_SOCKET = 'control.sock';

/** `sun_path` on Linux has 108 bytes, including the terminating zero. */
const MAX_SOCKET_PATH_BYTES = 107;

export interface ControlPath {
  readonly path: string;
  /** To be called when the socket is closed. */
  readonly release: () => void;
}

/**
 * A path to the socket of a data directory that is short enough for the system, however long the
 * directory's path is.
 */
export const openControlPath = (dataDir: string): ControlPath => {
  const path = join(dataDir, CONTROL_SOCKET);
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES) return { path, release: () => undefined };
  const directory = openSync(dataDir, constants.O_RDONLY | constants.O_DIRECTORY);
  return { path: `/proc/self/fd/${directory}/${CONTROL_SOCKET}`, release: () => closeSync(directory) };
};
