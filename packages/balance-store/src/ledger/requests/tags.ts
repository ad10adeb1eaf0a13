/** Numbers that stand for texts: series, sessions, programs, clients' tags, and labels. */

import { hash } from 'node:crypto';
import type { RequestFacts } from '../../request-record.js';
import type { Row } from '../tables/tables.js';

/**
 * Made from the facts, so that several processes need not agree on numbers. With 100,000 series,
 * two have one id with a probability of 2 in 100,000.
 */
export function seriesOf(facts: RequestFacts): number {
  const { accountId, keyId, model, endpoint, status, errorType, upstreamAccount } = facts;
  return tagOf(
    `${accountId ?? ''}\n${keyId ?? ''}\n${model ?? ''}\n${endpoint}\n${String(status)}\n` +
      `${errorType ?? ''}\n${upstreamAccount ?? ''}`,
  );
}

export function sessionTag(sessionId: string): number {
  return tagOf(`session\n${sessionId}`);
}

export function programTag(client: string): number {
  return tagOf(`program\n${client}`);
}

/** For what a client itself calls a tag. */
export function clientTag(tag: string): number {
  return tagOf(`tag\n${tag}`);
}

export function labelTag({
  client,
  sessionId,
  tag,
}: Pick<Row<'RequestLabel'>, 'client' | 'sessionId' | 'tag'>): number {
  // Without a tag, as earlier versions wrote it: sums of one day are added up in one row.
  const end = tag === null ? '' : `\n${tag}`;
  return tagOf(`label\n${client ?? ''}\n${sessionId ?? ''}${end}`);
}

/** 48 bits of a hash, which a JavaScript number holds. */
function tagOf(text: string): number {
  return Number.parseInt(hash('sha256', text, 'hex').slice(0, 12), 16);
}
