/**
 * An upstream that is silent in the middle of a stream: passes requests on to the simulator. If a
 * request contains `silent:5000`, nothing follows the first event of its stream for 5 s. It
 * remembers which requests the simulator refused.
 */

import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * @param {string} upstreamUrl
 * @returns {Promise<{ url: string; takeRefusals(): string[]; close(): void }>} `takeRefusals`
 * returns the errors since its last call, each with its status
 */
export async function startSilentUpstream(upstreamUrl) {
  /** @type {string[]} */
  let refusals = [];
  const server = createServer(async (req, res) => {
    const pieces = [];
    for await (const piece of req) pieces.push(piece);
    const body = Buffer.concat(pieces);
    const headers = without(Object.entries(req.headers), ['host', 'content-length', 'connection']);
    const answer = await fetch(new URL(req.url ?? '', upstreamUrl), {
      method: req.method,
      headers,
      ...(body.length === 0 ? {} : { body }),
    });
    const text = Buffer.from(await answer.arrayBuffer());
    if (!answer.ok) refusals.push(`${answer.status} ${text}`);
    const silence = Number(/silent:(\d+)/.exec(body.toString())?.[1] ?? 0);
    const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
    res.writeHead(answer.status, without([...answer.headers], ['transfer-encoding']));
    const firstEnd = text.indexOf('\n\n') + 2;
    if (isStream && silence > 0) {
      res.write(text.subarray(0, firstEnd));
      await sleep(silence);
      res.end(text.subarray(firstEnd));
    } else {
      res.end(text);
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${port}`,
    takeRefusals() {
      const taken = refusals;
      refusals = [];
      return taken;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/**
 * @param {[string, any][]} headers
 * @param {readonly string[]} names
 */
function without(headers, names) {
  return Object.fromEntries(headers.filter(([name]) => !names.includes(name)));
}
