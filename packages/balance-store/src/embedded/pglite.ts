/** The main thread's side of PGlite: sockets for `pg` that lead to the worker. */

import { Buffer } from 'node:buffer';
import { extname } from 'node:path';
import { Duplex } from 'node:stream';
import { Worker } from 'node:worker_threads';

export interface PgliteThread {
  /** Makes what `pg` takes for a socket. Connections share one session and must not overlap. */
  readonly connect: () => Duplex;
  stop(): Promise<void>;
}

interface Answer {
  readonly connection: number;
  readonly answer: Uint8Array;
}

/** The worker's file stands beside this one, in the sources as in each build. */
const WORKER_FILE = `worker${extname(import.meta.url)}`;

export function startPglite(dataDir: string): PgliteThread {
  const worker = new Worker(new URL(WORKER_FILE, import.meta.url), { workerData: dataDir });
  const sockets = new Map<number, WireSocket>();
  let failure: Error | undefined;
  let connections = 0;
  const exited = new Promise<void>((resolve) => {
    worker.once('exit', () => {
      failure ??= new Error('the embedded database has stopped');
      for (const socket of sockets.values()) socket.destroy(failure);
      resolve();
    });
  });
  worker.on('message', ({ connection, answer }: Answer) => {
    sockets.get(connection)?.push(Buffer.from(answer.buffer));
  });
  worker.on('error', (error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    failure = new Error(`the embedded database has failed: ${reason}`, { cause: error });
  });

  return {
    connect() {
      const connection = (connections += 1);
      const socket = new WireSocket({
        open() {
          if (failure === undefined) worker.postMessage({ connection, frames: undefined });
          return failure;
        },
        send(frames) {
          worker.postMessage({ connection, frames }, [frames.buffer]);
        },
        closed() {
          sockets.delete(connection);
        },
      });
      sockets.set(connection, socket);
      return socket;
    },
    async stop() {
      worker.postMessage('stop');
      await exited;
    },
  };
}

interface Wire {
  /** Answers why there is no connection to be had, if so. */
  open(): Error | undefined;
  send(frames: Uint8Array<ArrayBuffer>): void;
  closed(): void;
}

/** Types of frontend messages after which the server answers, by their first byte. */
const ENDS_A_TURN = new Set(Array.from('QSHcf', (type) => type.charCodeAt(0)));
const TERMINATE = 'X'.charCodeAt(0);

/**
 * Collects what `pg` writes until the server would answer: the engine treats each call as one turn,
 * and skips to the end of the turn after an error, which must therefore be in the same call.
 */
class WireSocket extends Duplex {
  readonly #wire: Wire;
  #unsent: Buffer[] = [];
  #hasStarted = false;

  constructor(wire: Wire) {
    super({ allowHalfOpen: false });
    this.#wire = wire;
  }

  connect(): this {
    const failure = this.#wire.open();
    if (failure === undefined) process.nextTick(() => this.emit('connect'));
    else this.destroy(failure);
    return this;
  }

  override _read(): void {
    // Answers are pushed as they come: one per turn, and `pg` reads them all.
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#take([chunk]);
    done();
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: () => void): void {
    this.#take(chunks.map(({ chunk }) => chunk));
    done();
  }

  override _final(done: () => void): void {
    this.push(null);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#wire.closed();
    done(error);
  }

  /** `pg` writes whole messages, one or more at a time. */
  #take(chunks: readonly Buffer[]): void {
    this.#unsent.push(...chunks);
    const last = chunks.at(-1);
    if (last === undefined || !this.#endsTurn(last)) return;
    const length = this.#unsent.reduce((sum, chunk) => sum + chunk.length, 0);
    // Its own memory, which can be handed over; that of buffers is shared among many.
    const frames = new Uint8Array(length);
    let offset = 0;
    for (const chunk of this.#unsent.splice(0)) {
      frames.set(chunk, offset);
      offset += chunk.length;
    }
    this.#wire.send(frames);
  }

  #endsTurn(message: Buffer): boolean {
    if (!this.#hasStarted) {
      // The startup message, the only one without a type.
      this.#hasStarted = true;
      return true;
    }
    const type = message[0];
    // A goodbye concerns the connection alone: the engine goes on.
    if (type === TERMINATE) this.#unsent = [];
    return type !== undefined && ENDS_A_TURN.has(type);
  }

  // What `pg` asks of a socket; nothing here has a wire to tune.
  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}
