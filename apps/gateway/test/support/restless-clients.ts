/** Clients that send one request after the other, and count their outcomes. */

import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { userMessage } from './gateway.js';

/**
 * A status; `cut`: the answer was incomplete; `lost`: a connection that had served a request was
 * closed before the answer; `refused`: a new connection could not be opened, or was closed before
 * the answer.
 */
export type Outcome = number | 'cut' | 'refused' | 'lost';

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
  let isOver = false;

  async function run(agent: Agent): Promise<void> {
    while (!isOver) {
      const { outcome, body } = await ask(url, apiKey, agent);
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
