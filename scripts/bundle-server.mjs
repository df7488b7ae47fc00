// Bundles the command line with the server, and the media process, with the packages that they
// import: Node.js reads a few files at each start instead of 1,500. Worker threads, which import
// little, start from the files beside it.
import { spawnSync } from 'node:child_process';
import { statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { filesIn, newestMs } from './build-pages.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const compiled = join(root, 'dist');
const target = join(compiled, 'bundle');
const stamp = join(compiled, '.bundle-built');

/** They look for files beside their own code, have native code, or are rarely loaded and large. */
const external = [
  'sherpa-onnx-node',
  '@electric-sql/pglite',
  '@aws-sdk/client-s3',
  '@fastify/swagger',
  '@fastify/swagger-ui',
];

/**
 * Modules look for files (migrations, workers, pages) beside where they are compiled to, and
 * node-av for its native code beside itself, wherever it is installed. `urlOfPackage` is a
 * parameter that src/lib/load-bundle.ts gives each chunk.
 */
const keepLocations = {
  name: 'keep-locations',
  transform: (code, id) => {
    if (!code.includes('import.meta.')) return undefined;
    if (id.endsWith('/node-av/dist/lib/binding.js'))
      return { code: code.replaceAll('import.meta.url', "urlOfPackage('node-av/lib')"), map: null };
    if (!id.startsWith(`${compiled}/`)) return undefined;
    const location = JSON.stringify(relative(target, id).replaceAll('\\', '/'));
    const moved = code.replaceAll('import.meta.url', `new URL(${location}, import.meta.url).href`);
    return { code: moved.replaceAll('import.meta.resolve(', 'urlOfPackage('), map: null };
  },
};

/** V8 reads a file faster and in half the memory if all of its characters fit in one byte. */
const asciiOnly = {
  name: 'ascii-only',
  generateBundle: (_options, bundle) => {
    for (const chunk of Object.values(bundle)) {
      if (chunk.type !== 'chunk') continue;
      // The backslash would escape that of the escape sequence.
      if (/\\[^\0-\x7f]/.test(chunk.code))
        throw new Error(`${chunk.fileName}: a backslash before a non-ASCII character`);
      const escapeUnit = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
      chunk.code = chunk.code.replace(/[^\0-\x7f]/g, escapeUnit);
    }
  },
};

/**
 * Which chunk is an entry. The names of chunks have a hash of their contents, so stored code always
 * fits its chunk.
 */
const listEntries = {
  name: 'list-entries',
  generateBundle(_options, bundle) {
    const entries = Object.values(bundle).filter(({ isEntry }) => isEntry);
    const source = JSON.stringify(Object.fromEntries(entries.map(({ name, fileName }) => [name, fileName])));
    this.emitFile({ type: 'asset', fileName: 'entries.json', source });
  },
};

export const bundleServer = async () => {
  const sources = [...filesIn('src'), 'package-lock.json', 'scripts/bundle-server.mjs'];
  if ((statSync(stamp, { throwIfNoEntry: false })?.mtimeMs ?? 0) >= newestMs(sources)) return;
  const startedAt = new Date();
  // Loaded only when it is needed, as for the pages.
  const { build } = await import('vite');
  await build({
    configFile: false,
    root,
    logLevel: 'error',
    publicDir: false,
    plugins: [keepLocations, asciiOnly, listEntries],
    ssr: { noExternal: true, external },
    build: {
      ssr: true,
      target: 'node20',
      outDir: target,
      emptyOutDir: true,
      minify: false,
      // What the licenses of the bundled packages ask for.
      license: { fileName: 'licenses.md' },
      rolldownOptions: {
        input: { run: join(compiled, 'cli/run.js'), engine: join(compiled, 'engine/main.js') },
        output: {
          // Node.js 20 can store compiled code of scripts only, not of modules.
          format: 'cjs',
          // `import()` does not work in stored code.
          dynamicImportInCjs: false,
          entryFileNames: '[name]-[hash].cjs',
          chunkFileNames: '[name]-[hash].cjs',
          minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
        },
      },
    },
  });
  // Where it fails, FFmpeg cannot be loaded, and the server says so.
  spawnSync(process.execPath, [join(compiled, 'engine/start.js'), 'compile'], { env: {}, stdio: 'ignore' });
  writeFileSync(stamp, '');
  utimesSync(stamp, startedAt, startedAt);
};
