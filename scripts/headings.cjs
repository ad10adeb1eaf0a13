/** The headings of a Markdown text, with the anchors that GitHub gives them. The site has the same. */

/** A fenced block, in which a line with `#` is no heading, or a heading. */
const BLOCK_OR_HEADING = /^ *```[^]*?^ *```$|^(#+) (.*)$/gm;

/**
 * @typedef {object} Heading
 * @property {number} level
 * @property {string} title
 * @property {string} anchor
 * @property {number} start - Where its line begins.
 */

/**
 * @param {string} text
 * @returns {readonly Heading[]}
 */
function headingsOf(text) {
  /** @type {Map<string, number>} */
  const seen = new Map();
  return [...text.matchAll(BLOCK_OR_HEADING)].flatMap((found) => {
    const [, marks, title] = found;
    if (marks === undefined || title === undefined) return [];
    const anchor = anchorOf(title);
    const earlier = seen.get(anchor) ?? 0;
    seen.set(anchor, earlier + 1);
    const heading = {
      level: marks.length,
      title,
      anchor: earlier === 0 ? anchor : `${anchor}-${earlier}`,
      start: found.index,
    };
    return [heading];
  });
}

/**
 * @param {string} text
 * @param {string} title
 * @returns {string} a section, with its heading, up to the next of its level
 */
function textUnder(text, title) {
  const headings = headingsOf(text);
  const heading = headings.find((each) => each.title === title);
  if (heading === undefined) throw new Error(`there is no heading ${title}`);
  const next = headings.find(({ start, level }) => start > heading.start && level <= heading.level);
  return text.slice(heading.start, next?.start);
}

/** @param {string} title */
function anchorOf(title) {
  return title
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .replaceAll(' ', '-');
}

module.exports = { anchorOf, headingsOf, textUnder };
