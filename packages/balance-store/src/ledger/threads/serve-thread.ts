/** The side of a ledger thread: runs the operations that the main thread calls. */

import type { MessagePort } from 'node:worker_threads';
import { LedgerArchiveError, LedgerMoveError } from '../../errors.js';
import { StoreUnavailableError } from '../../store.js';
import { unavailable } from '../base/reaching-database.js';
import { STOP } from './messages.js';
import type { Answer, Fault, Progress, Request } from './messages.js';
import { decode, encode } from './thread-codec.js';

export interface ServedThread<Report> {
  readonly port: MessagePort;
  /**
   * By name. An operation whose call wants its progress gets a function that reports it as its last
   * argument.
   */
  readonly operations: object;
  /** When absent, the errors of this package are told apart, and all others are mistakes. */
  readonly faultOf?: (error: unknown) => Fault;
  /** The report of the operation that has just ended. */
  readonly takeReport?: () => Report | undefined;
  /** Closes what the operations use. No call comes after it. */
  readonly onStop: () => void;
}

export function serveThread<Report = never>(served: ServedThread<Report>): void {
  const { port, operations, faultOf = faultOfStore, onStop } = served;
  const { takeReport = () => undefined } = served;
  const byName = operations as Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;

  async function answer(request: Request): Promise<Answer<Report>> {
    const { id, operation, args, isCopied, reportsProgress } = request;
    const report = (progress: unknown): void => {
      port.postMessage({ id, progress: encode(progress) } satisfies Progress);
    };
    try {
      const run = byName[operation];
      if (run === undefined) throw new Error(`there is no operation ${operation}`);
      const given = isCopied ? args : args.map(decode);
      const returned = await run(...given, ...(reportsProgress ? [report] : []));
      const result = isCopied ? returned : encode(returned);
      const commit = takeReport();
      return commit === undefined ? { id, result } : { id, result, commit };
    } catch (error) {
      takeReport();
      const fault = faultOf(error);
      const { name, message } = statedError(error, fault);
      return { id, fault, name, message };
    }
  }

  port.on('message', (message: Request | typeof STOP) => {
    if (message === STOP) {
      onStop();
      port.close();
      return;
    }
    void answer(message).then((reply) => {
      port.postMessage(reply);
    });
  });
}

function statedError(error: unknown, fault: Fault): Error {
  if (fault === 'unavailable' && !(error instanceof StoreUnavailableError)) {
    return unavailable(error);
  }
  return error instanceof Error ? error : new Error(String(error));
}

function faultOfStore(error: unknown): Fault {
  if (error instanceof StoreUnavailableError) return 'unavailable';
  if (error instanceof LedgerArchiveError) return 'archive';
  if (error instanceof LedgerMoveError) return 'move';
  return error instanceof RangeError ? 'refused' : 'mistake';
}
