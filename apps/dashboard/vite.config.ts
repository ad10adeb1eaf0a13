/**
 * Builds one of the two pages: `vite build --mode customer` to `dist/customer`, `--mode console` to
 * `dist/console`. Each file that compresses also gets a `.br` and a `.gz` beside it, so that the
 * gateway never compresses anything itself.
 */

import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { defineConfig } from 'vite';
import type { Plugin } from 'vite';
import { pageColumnsFor } from '../gateway/src/endpoints/page-columns.js';

export default defineConfig(({ mode }) => {
  if (mode !== 'customer' && mode !== 'console') {
    throw new Error('--mode must be customer or console');
  }
  const outDir = join(import.meta.dirname, 'dist', mode);
  return {
    root: join(import.meta.dirname, 'src', mode),
    // Relative, so that a proxy may serve the page below any path.
    base: './',
    publicDir: join(import.meta.dirname, 'public'),
    build: {
      outDir,
      emptyOutDir: true,
      target: 'es2023',
      // The content policy allows data: URLs only for images, so it would block other assets that
      // are inlined.
      assetsInlineLimit: 0,
      // Each page is one script, so it has no modulepreload links that would need the polyfill.
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      // What is in the page and whose, for those who receive it, and for scripts/notices.mjs.
      license: { fileName: 'licenses.txt' },
    },
    logLevel: 'warn',
    // Only these data of the gateway get into a page, and none that its readers may not see.
    define: {
      GATEWAY_COLUMNS: JSON.stringify(pageColumnsFor(mode === 'console' ? 'operators' : 'holders')),
    },
    plugins: [...(mode === 'customer' ? [withStatusLine] : []), compressed(outDir)],
  };
});

/** Customers fetch this script from their gateway: it has an address that they know. */
const withStatusLine: Plugin = {
  name: 'status line',
  generateBundle() {
    const fileName = 'status-line.mjs';
    const source = readFileSync(join(import.meta.dirname, '../../clients', fileName), 'utf8');
    this.emitFile({ type: 'asset', fileName, source });
  },
};

function compressed(dir: string): Plugin {
  return {
    name: 'compressed',
    closeBundle() {
      for (const path of readdirSync(dir, { recursive: true, encoding: 'utf8' })) {
        const file = join(dir, path);
        if (!/\.(html|js|css|svg)$/.test(path) || !statSync(file).isFile()) continue;
        const bytes = readFileSync(file);
        const quality = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
        writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params: quality }));
        writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
      }
    },
  };
}
