import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/console/',
  publicDir: 'static',
  logLevel: 'warn',
  build: {
    outDir: '../dist/console',
    // Not `assets`, which is a screen.
    assetsDir: 'files',
    emptyOutDir: true,
    // The console's policy allows no `data:` styles and scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // Packages mark their modules for servers that render React; here all of it runs in the
    // browser.
    rolldownOptions: { onLog: (level, log, pass) => log.code !== 'MODULE_LEVEL_DIRECTIVE' && pass(level, log) },
    // `light-dark()` stays as it is.
    // What the licenses of the bundled packages ask for.
    license: { fileName: 'licenses.md' },
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
  },
});
