/** A server in front of a simulator, as a proxy is, which can fail before or after it. */

import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startUpstreamSimulator } from '@gateway/upstream-simulator';
import type { UpstreamSimulator } from '@gateway/upstream-simulator';

/** Answers in place of the simulator. `accept` lets the simulator answer, and drops its answer. */
export type Fault = (exchange: {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly accept: () => Promise<void>;
}) => Promise<void> | void;

export interface FaultyHome {
  readonly simulator: UpstreamSimulator;
  readonly url: string;
  fault: Fault | undefined;
  /** Requests that arrived, whatever became of them. */
  asked: number;
  /** Closes the connections that serve no request. */
  closeConnections(): void;
  stop(): Promise<void>;
}

/** @param name - The simulator accepts the key `key-of-<name>`. */
export async function startFaultyHome(name: string): Promise<FaultyHome> {
  const simulator = await startUpstreamSimulator({ apiKey: `key-of-${name}` });
  const home: FaultyHome = {
    simulator,
    get url() {
      return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
    },
    fault: undefined,
    asked: 0,
    closeConnections() {
      server.closeIdleConnections();
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await simulator.close();
    },
  };
  const server = createServer((req, res) => {
    // A reload asks each account for its models.
    if (req.method === 'POST') home.asked += 1;
    const { method, headers } = req;
    const toSimulator = () => {
      const onward = request(simulator.url + req.url!, { method, headers });
      req.pipe(onward);
      return onward;
    };
    if (home.fault === undefined) {
      toSimulator().on('response', (answer) => {
        res.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(res);
      });
      return;
    }
    const accept = async (): Promise<void> => {
      const [answer] = (await once(toSimulator(), 'response')) as [IncomingMessage];
      for await (const _ of answer);
    };
    void home.fault({ req, res, accept });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return home;
}

/** Failures after which the request may have been accepted; here it was. */
export const UNCLEAR: Readonly<Record<string, Fault>> = {
  'is reset after it accepted the request': async ({ res, accept }) => {
    await accept();
    res.socket?.resetAndDestroy();
  },
  'has a proxy that answers 502 after it accepted the request': async ({ res, accept }) => {
    await accept();
    res.writeHead(502, { 'content-type': 'text/html' }).end('<html>Bad gateway');
  },
  'has a proxy that answers 504 in JSON after it accepted the request': async ({ res, accept }) => {
    await accept();
    res.writeHead(504, { 'content-type': 'application/json' });
    res.end('{"error":{"type":"timeout","message":"upstream request timeout"}}');
  },
};
