/**
 * The pages of the site, made from the documents of the repository, so that each fact stays where
 * it is stated. A page has the path of its document. Two long documents become a page per section.
 */

const { posix } = require('node:path');
const { headingsOf } = require('../scripts/headings.cjs');

/** The handbook and the clients: a reader comes for one task, or for one client. */
const SPLIT = ['docs/operating.md', 'docs/clients.md'];
/** Its headings and lists are the navigation. */
const INDEX = 'docs/README.md';
/** A block, a piece of code, or a link with its text and its target. */
const CODE_OR_LINK =
  /^ *```[^]*?^ *```$|`(?:[^`\n]|\n(?!\n))+`|\[((?:`[^`\n]*`|[^\]`])*)\]\(((?![a-z]+:)[^)\s]+)\)/gm;

/**
 * @typedef {object} Repository
 * @property {ReadonlyMap<string, string>} documents - The text of each document, by its path.
 * @property {ReadonlyMap<string, string>} references - Pages made from docstrings, in place of API
 * reports.
 * @property {(path: string) => boolean} has - Whether there is such a file or folder.
 * @property {string | undefined} address - Where people read files that are no pages.
 *
 * @typedef {object} Site
 * @property {ReadonlyMap<string, string>} pages - The text of each, by its path.
 * @property {readonly Group[]} sidebar - The navigation.
 * @property {ReadonlySet<string>} images - Their paths in the repository.
 *
 * @typedef {object} Group
 * @property {string} text
 * @property {boolean} [collapsed]
 * @property {readonly { readonly text: string, readonly link: string }[]} items
 */

/**
 * @param {Repository} repository
 * @returns {Site}
 * @throws {Error} if a link leads nowhere
 */
function siteOf(repository) {
  const documents = [...repository.documents].map(([path, text]) => documentOf(path, text));
  const images = new Set();
  const pages = new Map(
    documents.flatMap((document) =>
      piecesOf(document).map(({ page, text }) => [page, withLinks(document, text)]),
    ),
  );
  return { pages, sidebar: sidebar(), images };

  function withLinks({ path }, text) {
    return text.replace(CODE_OR_LINK, (whole, words, link) => {
      if (link === undefined) return whole;
      const target = targetOf(path, link);
      return target === undefined ? words : `[${words}](${target})`;
    });
  }

  /** @returns undefined for a file that is no page, while nobody says where people read it */
  function targetOf(from, link) {
    const [name = '', anchor = ''] = link.split('#');
    const path = posix.normalize(name === '' ? from : posix.join(posix.dirname(from), name));
    const place = placeOf(path.replace(/\/$/, ''), anchor);
    if (place !== undefined) return place;
    if (!repository.has(path)) throw new Error(`${from}: ${link} leads nowhere`);
    if (/\.(?:png|svg)$/.test(path)) {
      images.add(path);
      return `/${path}`;
    }
    return repository.address && `${repository.address}/${path}`;
  }

  function placeOf(path, anchor) {
    const reference = repository.references.get(path);
    if (reference !== undefined) return addressOf(reference);
    const document = documents.find((each) => [path, `${path}/README.md`].includes(each.path));
    if (document === undefined) return undefined;
    const { page, sections, anchors } = document;
    if (anchor === '') return addressOf(page);
    if (!anchors.includes(anchor)) throw new Error(`${path} has no heading #${anchor}`);
    const section = sections.find((each) => each.anchors.includes(anchor));
    if (section === undefined) return `${addressOf(page)}#${anchor}`;
    return addressOf(section.page) + (section.anchors[0] === anchor ? '' : `#${anchor}`);
  }

  function sidebar() {
    const groups = piecesAt(repository.documents.get(INDEX) ?? '', 2).slice(1);
    return [
      ...groups.map(({ title, text }) => ({ text: title, items: linksIn(text) })),
      ...documents.filter(({ sections }) => sections.length > 0).map(sectionsOf),
      {
        text: 'References',
        collapsed: true,
        items: [...repository.references.values()].map(named),
      },
    ];
  }

  function linksIn(text) {
    return [...text.matchAll(/^- \[(.*)\]\((.*)\)$/gm)].map(([, words, link]) => {
      const target = targetOf(INDEX, link);
      if (target === undefined) throw new Error(`${INDEX}: ${link} is no page`);
      return { text: words, link: target };
    });
  }
}

function documentOf(path, text) {
  const page = path.replace(/(^|\/)README\.md$/, '$1index.md');
  const sections = SPLIT.includes(path)
    ? piecesAt(text, 2)
        .slice(1)
        .map((piece) => ({ ...piece, page: page.replace(/\.md$/, `/${piece.anchors[0]}.md`) }))
    : [];
  return { path, text, page, sections, anchors: headingsOf(text).map(({ anchor }) => anchor) };
}

/** What is written for a document: its text, or its introduction and a page per section. */
function piecesOf({ text, page, sections }) {
  if (sections.length === 0) return [{ page, text }];
  const [introduction] = piecesAt(text, 2);
  // Links within the document, which become those of the pages.
  const list = sections.map(({ title, anchors }) => `- [${title}](#${anchors[0]})\n`).join('');
  return [
    { page, text: `${introduction.text}\n${list}` },
    ...sections.map((section) => ({ page: section.page, text: raised(section.text) })),
  ];
}

/** @returns the text before the first heading of this level, then each with its text */
function piecesAt(text, level) {
  const headings = headingsOf(text);
  const starts = headings.filter((heading) => heading.level === level);
  return [{ title: '', start: 0 }, ...starts].map(({ title, start }, at) => {
    const end = starts[at]?.start ?? text.length;
    const inside = headings.filter((heading) => heading.start >= start && heading.start < end);
    return { title, text: text.slice(start, end), anchors: inside.map(({ anchor }) => anchor) };
  });
}

/** A section as a page of its own: its heading is the first. */
function raised(text) {
  const headings = headingsOf(text).toReversed();
  return headings.reduce(
    (changed, { start }) => changed.slice(0, start) + changed.slice(start + 1),
    text,
  );
}

function sectionsOf({ text, page, sections }) {
  return {
    text: headingsOf(text)[0]?.title ?? page,
    collapsed: true,
    items: sections.map((section) => ({ text: section.title, link: addressOf(section.page) })),
  };
}

function named(page) {
  return { text: page.replace(/^reference\/|\.md$/g, ''), link: addressOf(page) };
}

function addressOf(page) {
  return `/${page.replace(/(^|\/)index\.md$|\.md$/, '$1')}`;
}

module.exports = { siteOf };
