/**
 * The words of an error that the record of requests keeps. The gateway's own refusals and the
 * upstream's errors may quote the request, and the record must have nothing of a prompt or an
 * answer. So it keeps a path of field names, plain words, numbers and names as the provider writes
 * them, and leaves out everything else. See docs/decisions/0080.
 */

import type { ReportedError } from '../exchange-report.js';

const MAX_CHARS = 160;
const MAX_WORDS = 40;

/** A field's path at the beginning, such as `messages.0.content.1.image.source`. */
const PATH = /^([a-z][a-z0-9_]*(?:\.(?:[a-z][a-z0-9_]*|\d{1,6})|\[\d{1,6}\]){0,12}): /;

const NAME = '`?[a-z][a-z0-9]{0,19}(?:_[a-z0-9]{1,19}){0,4}`?';
const WORD = new RegExp(
  '^\\(?(?:' +
    [
      NAME,
      '[A-Z][a-z]{0,19}',
      "[a-z]{1,15}['’](?:s|t|re)",
      '[A-Z]{1,6}',
      '\\d[\\d,.]{0,14}',
      '[<>=/]{1,2}',
      // A model, an endpoint, the value of a limit.
      'claude-[a-z0-9.-]{1,40}',
      '/v1/[a-z_/]{1,30}',
    ].join('|') +
    ')[).,;:]{0,2}$',
);
const JSON_STRING = /"(?:[^"\\]|\\.)*"/g;

/** Stands for what was left out. */
const LEFT_OUT = '…';

/** The gateway writes each quotation as a JSON string, whose end is clear. */
export function errorWords({ message, source }: ReportedError): string {
  const start = message.slice(0, 2_000);
  const [found = '', path = ''] = PATH.exec(start) ?? [];
  const prefix = path.length > 0 && path.length <= 100 ? found : '';
  const rest = start.slice(prefix.length);
  const text = source === 'gateway' ? rest.replace(JSON_STRING, LEFT_OUT) : rest;
  const words: string[] = [];
  let chars = prefix.length;
  for (const word of text.split(/\s+/, MAX_WORDS)) {
    if (word === '') continue;
    chars += word.length + 1;
    if (chars > MAX_CHARS) return prefix + [...words, LEFT_OUT].join(' ');
    if (WORD.test(word)) words.push(word);
    else if (source === 'gateway') words.push(LEFT_OUT);
    // What follows may still be the quotation.
    else return prefix + [...words, LEFT_OUT].join(' ');
  }
  return prefix + words.join(' ');
}
