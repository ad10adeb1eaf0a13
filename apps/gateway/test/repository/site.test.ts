/** The pages of the site: they are the documents, with every task at an address of its own. */

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { headingsOf } from '../../../../scripts/headings.cjs';
import { siteOf } from '../../../../site/pages.cjs';

const ROOT = resolve(__dirname, '../../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const PLAIN = {
  documents: new Map<string, string>(),
  references: new Map<string, string>(),
  has: (_path: string): boolean => false,
  address: undefined as string | undefined,
};
const pageOf = (parts: Partial<typeof PLAIN>, path: string) =>
  siteOf({ ...PLAIN, ...parts }).pages.get(path);

describe('the site of this repository', () => {
  const docs = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
  const documents = new Map(
    ['README.md', ...docs.map((name) => `docs/${name}`)].map((path) => [path, read(path)]),
  );
  // Pages that only have to be there.
  for (const path of [
    'SECURITY.md',
    'CONTRIBUTING.md',
    'examples/README.md',
    'docs/decisions/README.md',
  ])
    documents.set(path, read(path));
  for (const name of readdirSync(join(ROOT, 'packages')))
    documents.set(`packages/${name}/README.md`, read(`packages/${name}/README.md`));
  documents.set('packages/translator/docs/mapping.md', '');
  const has = (path: string) => existsSync(join(ROOT, path));
  const { pages, sidebar } = siteOf({ ...PLAIN, documents, has, address: 'https://git.example' });
  const links = sidebar.flatMap(({ items }) => items.map(({ link }) => link));

  it('has a page for each task and each client, in its navigation', () => {
    for (const link of [
      '/#start',
      '/docs/operating/alerts',
      '/docs/operating/when-a-secret-leaks',
      '/docs/operating/failover-of-postgresql',
      '/docs/operating/from-the-embedded-ledger-to-postgresql',
      '/docs/operating/upgrade',
      '/docs/clients/claude-code',
      '/docs/clients/codex',
      '/docs/errors',
    ]) {
      expect(links).toContain(link);
    }
    const clients = headingsOf(read('docs/clients.md')).filter(({ level }) => level === 2);
    expect(links.filter((link) => link.startsWith('/docs/clients/'))).toHaveLength(clients.length);
  });

  it('has every heading of the documents once, and no more', () => {
    const titles = (texts: Iterable<string>) =>
      [...texts]
        .flatMap((text) => headingsOf(text).map(({ title }) => title.replace(/\]\(.*?\)/g, '')))
        .sort();
    expect(titles(pages.values())).toEqual(titles(documents.values()));
  });

  it('begins each page with its only heading of the first level', () => {
    const levels = [...pages].flatMap(([path, text]) => {
      const [first, ...others] = headingsOf(text).map(({ level }) => level);
      return text !== '' && (first !== 1 || others.includes(1)) ? [path] : [];
    });
    expect(levels).toEqual([]);
  });
});

describe('a link of the site', () => {
  const handbook =
    '# Book\n\nIntro.\n\n## One\n\n### Deep\n\n## Two\n\n[up](#deep), [back](../README.md#a)\n';
  const documents = new Map([
    [
      'README.md',
      '# A\n\n[deep](docs/operating.md#deep) [two](docs/operating.md#two) [x](docs/)\n',
    ],
    ['docs/operating.md', handbook],
    ['docs/README.md', '# Docs\n'],
  ]);

  it('leads to the page that shows the section', () => {
    expect(pageOf({ documents }, 'index.md')).toBe(
      '# A\n\n[deep](/docs/operating/one#deep) [two](/docs/operating/two) [x](/docs/)\n',
    );
    expect(pageOf({ documents }, 'docs/operating/two.md')).toBe(
      '# Two\n\n[up](/docs/operating/one#deep), [back](/#a)\n',
    );
    expect(pageOf({ documents }, 'docs/operating.md')).toContain('- [One](/docs/operating/one)\n');
  });

  // F471: a document links to a file, a page or a heading that is gone: the site is not built.
  it('that leads nowhere is refused, with its document', () => {
    for (const link of ['gone.md', 'docs/operating.md#gone', '#gone', 'site/'])
      expect(() =>
        pageOf({ documents: new Map([...documents, ['README.md', `[x](${link})`]]) }, ''),
      ).toThrow(/gone|site/);
  });

  it('to a file that is no page leads to the repository, if its address is known', () => {
    const linked = { documents: new Map([['README.md', '[`x`](deploy/x.yaml)']]), has: () => true };
    expect(pageOf(linked, 'index.md')).toBe('`x`');
    expect(pageOf({ ...linked, address: 'https://git.example' }, 'index.md')).toBe(
      '[`x`](https://git.example/deploy/x.yaml)',
    );
  });

  it('to an API report leads to the reference', () => {
    const references = new Map([['packages/x/etc/x.api.md', 'reference/x.md']]);
    const linked = {
      documents: new Map([['README.md', '[x](packages/x/etc/x.api.md)']]),
      references,
    };
    expect(pageOf(linked, 'index.md')).toBe('[x](/reference/x)');
  });

  it('in code stays as it is', () => {
    const text = '`[x](gone)` `a\nb` [y](https://x.example)\n\n```\n[x](gone)\n# no heading\n```\n';
    expect(pageOf({ documents: new Map([['README.md', text]]) }, 'index.md')).toBe(text);
  });
});
