/**
 * Whole lists, sent to a client while they are read page by page. A page is read when the client
 * has taken the one before, so only about a page is in memory, and the ledger keeps nothing open in
 * between. If a page cannot be read, the connection is reset: otherwise the part that was sent
 * would look like the whole.
 */

import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import { judgeWhileWritten } from './departures.js';
import { ARCHIVED_UNTIL } from './list-headers.js';
import { waitOf } from './refusal.js';

/** Rows of a page. Reading and writing them takes a few milliseconds of the event loop. */
export const ROWS_PER_PAGE = 200;

export interface ExportPage {
  readonly text: string;
  /** Only those of the first page are sent. What is archived must stay the same. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** @param inTurn - Reads each page. */
export type ReadPages = (inTurn: InTurn) => AsyncGenerator<ExportPage, undefined>;
type InTurn = <Page>(read: () => Promise<Page>) => Promise<Page>;

interface Export {
  /** The key, or the operator's token. It can have one export at a time. */
  readonly owner: string;
  readonly read: ReadPages;
  readonly headers: OutgoingHttpHeaders;
  /** Reserves memory for a page. Returns the refusal, if there is none. */
  readonly reserve?: (bytes: number) => Refusal | undefined;
}

export interface Exports {
  /**
   * Sends all pages, or what the client takes until it leaves.
   *
   * @returns the refusal, if nothing was sent
   * @throws Whatever reading a page throws. Nothing was sent if that was the first page; otherwise
   * the connection is gone.
   */
  send(res: ServerResponse, of: Export): Promise<Refusal | undefined>;
}

const RETRY_MS = 5_000;

/**
 * All exports of this process read their pages one after another. However many there are, together
 * they load the ledger like one client that asks for page after page.
 */
export function createExports(): Exports {
  const owners = new Set<string>();
  let last: Promise<unknown> = Promise.resolve();
  const inTurn: InTurn = (read) => {
    const turn = last.then(read);
    last = turn.catch(() => undefined);
    return turn;
  };

  return {
    async send(res, { owner, read, headers, reserve }) {
      if (owners.has(owner)) return newRefusal('export_runs', waitOf(RETRY_MS));
      owners.add(owner);
      try {
        const pages = read(inTurn);
        const { value: first } = await pages.next();
        const refusal = reserve?.(first?.text.length ?? 0);
        if (refusal !== undefined) return refusal;
        res.writeHead(200, { ...headers, ...first?.headers });
        await sendPages(res, first, pages);
        return undefined;
      } finally {
        owners.delete(owner);
      }
    },
  };
}

async function sendPages(
  res: ServerResponse,
  first: ExportPage | undefined,
  rest: AsyncGenerator<ExportPage, undefined>,
): Promise<void> {
  const { req } = res;
  // A broken socket also emits `close`. Without a listener, `error` would end the process.
  res.on('error', () => undefined);
  judgeWhileWritten(res);
  try {
    let page = first;
    while (page !== undefined && req.method !== 'HEAD') {
      if (page.text !== '' && !res.write(page.text)) await roomIn(res);
      if (req.socket.destroyed) return;
      page = (await rest.next()).value;
      if (page !== undefined && archiveOf(page) !== archiveOf(first)) {
        throw new Error('charges were archived while the list was read');
      }
    }
    res.end();
  } catch (error) {
    // To a client of HTTP/1.0, or a proxy that speaks it, an ordinary end would be the end of the
    // body. It is not `res` that is destroyed, because a pipelined response may have no socket yet.
    req.socket.resetAndDestroy();
    throw error;
  } finally {
    await rest.return(undefined);
  }
}

function archiveOf(page: ExportPage | undefined): string | undefined {
  return page?.headers?.[ARCHIVED_UNTIL];
}

/** Resolves when the client has taken what was written, or has left. */
function roomIn(res: ServerResponse): Promise<void> {
  const { socket } = res.req;
  return new Promise((resolve) => {
    const done = (): void => {
      res.off('drain', done);
      socket.off('close', done);
      resolve();
    };
    res.on('drain', done);
    socket.on('close', done);
    if (socket.destroyed) done();
  });
}
