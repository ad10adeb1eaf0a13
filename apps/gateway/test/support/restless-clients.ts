/** Clients that send one request after the other, and count their outcomes. */

import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { userMessage } from './gateway.js';

/**
 * A status; `cut`: the answer was incomplete; `lost`: a connection that had served a request was
 * closed before the answer; `refused`: a new connection could not be opened, or was closed before
 * the answer.
 *
 * A server that stops closes connections that are idle for {@link CLOSED_AFTER_MS}. If this process
 * gets no CPU for that long, its next request meets a closed connection through no fault of the
 * server. Such a request is not counted as lost, but sent again, as SDKs do. The same holds for a
 * new connection on which this process sent nothing for {@link SILENT_MS}.
 */
export type Outcome = number | 'cut' | 'refused' | 'lost';

/** `IDLE_MS` of `http-server.ts`. */
const CLOSED_AFTER_MS = 250;
/** As in `http-server.ts`: a server that stops closes a connection that sends nothing so long. */
const SILENT_MS = 2_000;
const LOOK_EVERY_MS = 10;
/** A longer time between two looks is a stall. Timers are a little late on any machine. */
const STALL_MS = 30;

export interface RestlessClients {
  readonly outcomes: ReadonlyMap<Outcome, number>;
  /** The bodies of the first answers whose status is not 200. */
  readonly refusals: readonly string[];
  /** Resolves when the last request of each is over. */
  stop(): Promise<void>;
}

/**
 * @param kinds - The number of clients that keep their connection, and of those that open one for
 * each request. They pause after each answer for `pauseMs`, by default not at all. A pause saves
 * CPU time while something slow happens, such as the start of a process.
 */
export function startClients(
  url: string,
  apiKey: string,
  kinds: { readonly staying: number; readonly coming: number; readonly pauseMs?: number },
): RestlessClients {
  const outcomes = new Map<Outcome, number>();
  const refusals: string[] = [];
  const stalls = watchStalls();
  let isOver = false;

  async function run(agent: Agent): Promise<void> {
    let stalledBefore = 0;
    while (!isOver) {
      // Stalls since the request before: only they can have made its connection idle for longer
      // than the pause.
      const stalled = stalls.total();
      const idleMs = stalled - stalledBefore + (kinds.pauseMs ?? 0);
      stalledBefore = stalled;
      const { outcome, body } = await ask(url, apiKey, agent);
      if (outcome === 'lost' && idleMs >= CLOSED_AFTER_MS) continue;
      if (outcome === 'refused' && stalls.total() - stalled >= SILENT_MS) continue;
      if (typeof outcome === 'number' && outcome !== 200 && refusals.length < 10) {
        refusals.push(body);
      }
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      // A process that refuses connections does not have to be tried again at once.
      const pauseMs = outcome === 'refused' ? 10 : kinds.pauseMs;
      if (pauseMs !== undefined) await sleep(pauseMs);
    }
    agent.destroy();
  }

  const clients = Array.from({ length: kinds.staying + kinds.coming }, (_, index) =>
    run(new Agent({ keepAlive: index < kinds.staying, maxSockets: 1 })),
  );
  return {
    outcomes,
    refusals,
    async stop() {
      isOver = true;
      await Promise.all(clients);
      stalls.stop();
    },
  };
}

/** Measures for how long this process got no CPU or was busy with one thing, in all. */
function watchStalls() {
  let [lookedAt, totalMs] = [performance.now(), 0];

  function look(): void {
    const now = performance.now();
    if (now - lookedAt > STALL_MS) totalMs += now - lookedAt;
    lookedAt = now;
  }

  const timer = setInterval(look, LOOK_EVERY_MS);
  return {
    total(): number {
      look();
      return totalMs;
    },
    stop() {
      clearInterval(timer);
    },
  };
}

interface Asked {
  readonly outcome: Outcome;
  readonly body: string;
}

function ask(url: string, apiKey: string, agent: Agent): Promise<Asked> {
  const headers = {
    'x-api-key': apiKey,
    'anthropic-version': '2023-06-01',
    'content-type': 'application/json',
  };
  return new Promise((resolve) => {
    const req = request(`${url}/v1/messages`, { method: 'POST', agent, headers }, (res) => {
      res.on('error', () => undefined);
      let body = '';
      res.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      res.on('close', () => {
        resolve({ outcome: res.complete ? res.statusCode! : 'cut', body });
      });
    });
    req.on('error', () => {
      resolve({ outcome: req.reusedSocket ? 'lost' : 'refused', body: '' });
    });
    req.end(JSON.stringify(userMessage('Hello')));
  });
}
