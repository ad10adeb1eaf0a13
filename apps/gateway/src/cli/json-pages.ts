/** Writes a list as JSON page by page, so that no more than a page is in memory. */

/** Returns a function that writes each page as its part of one object, which has all items. */
export function createJsonPages() {
  let separator: string | undefined;
  return ({ data, ...page }: JsonPage): string => {
    const head = JSON.stringify({ ...page, has_more: false, next_cursor: null }, null, 2);
    let text = separator === undefined ? `${head.slice(0, -2)},\n  "data": [` : '';
    separator ??= '\n';
    for (const item of data) {
      text += separator + JSON.stringify(item);
      separator = ',\n';
    }
    return page.next_cursor === null ? `${text}\n  ]\n}\n` : text;
  };
}

export interface JsonPage {
  readonly data: readonly object[];
  readonly next_cursor: string | null;
}
