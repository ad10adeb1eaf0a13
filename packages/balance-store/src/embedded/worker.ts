/** The thread PGlite runs in: frames of PostgreSQL's wire protocol in, the engine's answers out. */

import { PGlite } from '@electric-sql/pglite';
import { parentPort, workerData } from 'node:worker_threads';

const port = parentPort;
if (port === null || typeof workerData !== 'string') throw new Error('not started as a worker');

const opening = PGlite.create(workerData);

interface Request {
  readonly connection: number;
  /** `undefined` opens a connection: what the one before left behind is undone. */
  readonly frames: Uint8Array | undefined;
}

// One after the other. A failure of the engine ends the thread, which its owner is told.
let work: Promise<unknown> = opening;
port.on('message', (request: Request | 'stop') => {
  work = work.then(() => handle(request));
});

async function handle(request: Request | 'stop'): Promise<void> {
  const database = await opening;
  if (request === 'stop') {
    await database.close();
    port?.close();
  } else if (request.frames === undefined) {
    // Without a transaction this is a warning that nobody hears.
    await database.exec('ROLLBACK');
    await database.exec('DISCARD ALL');
  } else {
    const answer = (await database.execProtocolRaw(request.frames)).slice();
    port?.postMessage({ connection: request.connection, answer }, [answer.buffer]);
  }
}
