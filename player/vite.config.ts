import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';

/**
 * Vidstack sets all its styles in a way that the page's policy allows, except for two attributes in its templates. player.css
 * has what matters of them.
 */
const withoutStyleAttributes = (): Plugin => {
  const attributes = [' style="max-width: unset;"', ' style="pointer-events: none;"'];
  const missing = new Set(attributes);
  return {
    name: 'without-style-attributes',
    transform(code, id) {
      if (!id.includes('/vidstack/')) return undefined;
      const found = attributes.filter((attribute) => code.includes(attribute));
      for (const attribute of found) missing.delete(attribute);
      return found.length > 0
        ? { code: found.reduce((text, attribute) => text.replaceAll(attribute, ''), code) }
        : undefined;
    },
    buildEnd(error) {
      if (!error && missing.size > 0) this.error(`Vidstack no longer has${[...missing]}; change player/vite.config.ts`);
    },
  };
};

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/player/',
  publicDir: false,
  logLevel: 'error',
  plugins: [withoutStyleAttributes()],
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
    rolldownOptions: {
      input: fileURLToPath(new URL('player.html', import.meta.url)),
      // The controls are one file, beside what plays the video.
      output: {
        codeSplitting: {
          groups: [
            {
              name: 'controls',
              test: /node_modules.(vidstack|media-captions|lit-html|@floating-ui|fscreen)/,
              includeDependenciesRecursively: false,
            },
          ],
        },
      },
    },
    chunkSizeWarningLimit: 1200,
  },
});
