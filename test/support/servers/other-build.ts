import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { cliPath } from '../processes/run-cli.js';

const dist = dirname(dirname(cliPath));

const FROM_BUNDLE = "loadBundle('run', { keepsCompiled: true })";

export interface OtherBuild {
  /** Its `kinora`. */
  readonly program: string;
  write(path: string, text: string): void;
  /** Changes a compiled module. The program then runs from its modules instead of the bundle. */
  edit(path: string, from: string, to: string): void;
  remove(): void;
}

/** A copy of this build, to be changed into another release. Paths are below `dist`. */
export const copyBuild = (): OtherBuild => {
  const dir = mkdtempSync(join(tmpdir(), 'kinora-build-'));
  cpSync(dist, join(dir, 'dist'), { recursive: true });
  for (const name of ['package.json', 'node_modules']) symlinkSync(join(dirname(dist), name), join(dir, name));
  const placeOf = (path: string): string => join(dir, 'dist', path);
  const replace = (path: string, from: string, to: string): void => {
    const text = readFileSync(placeOf(path), 'utf8');
    if (!text.includes(from)) throw new Error(`${path} has no ${from}`);
    writeFileSync(placeOf(path), text.replace(from, to));
  };
  return {
    program: placeOf('cli/main.js'),
    write: (path, text) => writeFileSync(placeOf(path), text),
    edit: (path, from, to) => {
      replace(path, from, to);
      if (readFileSync(placeOf('cli/main.js'), 'utf8').includes(FROM_BUNDLE))
        replace('cli/main.js', FROM_BUNDLE, "await import('./run.js')");
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
};
