/** Clients that send requests without a pause, and count their outcomes. */

import { Agent, request } from 'node:http';
import { userMessage } from './gateway.js';

/**
 * A status; `cut`: the answer was incomplete; `refused`: the connection could not be opened;
 * `lost`: an open connection was closed before the answer.
 */
export type Outcome = number | 'cut' | 'refused' | 'lost';

export interface RestlessClients {
  readonly outcomes: ReadonlyMap<Outcome, number>;
  /** Resolves when the last request of each is over. */
  stop(): Promise<void>;
}

/**
 * @param kinds - The number of clients that keep their connection, and of those that open one for
 * each request.
 */
export function startClients(
  url: string,
  apiKey: string,
  kinds: { readonly staying: number; readonly coming: number },
): RestlessClients {
  const outcomes = new Map<Outcome, number>();
  let isOver = false;

  async function run(agent: Agent): Promise<void> {
    while (!isOver) {
      const outcome = await ask(url, apiKey, agent);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      // A process that refuses connections does not have to be tried again at once.
      if (outcome === 'refused') await new Promise((resolve) => setTimeout(resolve, 10));
    }
    agent.destroy();
  }

  const clients = Array.from({ length: kinds.staying + kinds.coming }, (_, index) =>
    run(new Agent({ keepAlive: index < kinds.staying, maxSockets: 1 })),
  );
  return {
    outcomes,
    async stop() {
      isOver = true;
      await Promise.all(clients);
    },
  };
}

function ask(url: string, apiKey: string, agent: Agent): Promise<Outcome> {
  const headers = {
    'x-api-key': apiKey,
    'anthropic-version': '2023-06-01',
    'content-type': 'application/json',
  };
  return new Promise((resolve) => {
    const req = request(`${url}/v1/messages`, { method: 'POST', agent, headers }, (res) => {
      res.on('error', () => undefined);
      res.on('close', () => {
        resolve(res.complete ? res.statusCode! : 'cut');
      });
      res.resume();
    });
    req.on('error', () => {
      resolve(req.reusedSocket ? 'lost' : 'refused');
    });
    req.end(JSON.stringify(userMessage('Hello')));
  });
}
