/**
 * Translates citations of web pages to the annotations of chat messages.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool
 */

import { type JsonObject, stringOf } from '../../wire/raw-json.js';

/** The part of the message's text that a page supports, and the page. */
export interface ChatAnnotation {
  type: 'url_citation';
  url_citation: { start_index: number; end_index: number; title: string; url: string };
}

/**
 * The annotations of one text block. The native format cites a block as a whole, so each annotation
 * covers the whole block. Citations of documents have no address and are left out.
 *
 * @param start - Where the block begins in the text of the message.
 */
export function annotationsOf(
  citations: readonly JsonObject[],
  start: number,
  end: number,
): ChatAnnotation[] {
  return citations
    .filter(({ type }) => type === 'web_search_result_location')
    .map(({ url, title }) => ({
      type: 'url_citation',
      url_citation: {
        start_index: start,
        end_index: end,
        title: stringOf(title),
        url: stringOf(url),
      },
    }));
}
