import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/player/',
  publicDir: false,
  logLevel: 'error',
  build: {
    outDir: '../dist/pages/player',
    emptyOutDir: true,
    assetsDir: '',
    // The policy of the page allows no `data:` scripts and styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // What the licenses of the bundled packages ask for.
    license: { fileName: 'licenses.md' },
    rolldownOptions: { input: fileURLToPath(new URL('player.html', import.meta.url)) },
    // hls.js alone has more than the limit of a warning.
    chunkSizeWarningLimit: 800,
  },
});
