/** The site: pages that `site/build.mjs` has written, and a search without a service. */

import { readFileSync } from 'node:fs';
import headings from '../../scripts/headings.cjs';

const sidebar = JSON.parse(readFileSync(new URL('../pages/sidebar.json', import.meta.url), 'utf8'));

// Where the site lies on its host, such as `/farthing/`.
const base = process.env['SITE_BASE'] || '/';

export default {
  title: 'Farthing',
  description: "A prepaid gateway to Anthropic's Messages API that you host yourself",
  lang: 'en',
  base,
  srcDir: 'pages',
  outDir: `dist${base}`,
  cacheDir: 'node_modules/.vitepress',
  markdown: { anchor: { slugify: headings.anchorOf } },
  themeConfig: {
    search: { provider: 'local' },
    sidebar,
    outline: [2, 3],
    docFooter: { prev: false, next: false },
  },
};
