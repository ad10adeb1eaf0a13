/**
 * The process of the clients. It receives over IPC the requests to send and the contestant to send
 * them to, and returns tallies and times. `load/checks.mjs` defines a correct response.
 */

import { answerOf } from './answers.mjs';
import { runBusy } from './load/busy.mjs';
import { runSteady } from './load/steady.mjs';
import { runStreams } from './load/streams.mjs';
import { promptOf } from './prompts.mjs';

let target;
let running;

const handlers = {
  /**
   * @param target - the contestant and the workload: `port`, `fidelity`, `requests`, and
   *   `headers`, a list from which the requests take their headers in turn
   */
  aim({ port, headers, fidelity, requests }) {
    const all = requests.map((request) => prepared(request, headers));
    target = { port, fidelity, requests: all };
  },
  busy: (options) => runBusy(target, options),
  steady: (options) => runSteady(target, options),
  openStreams(options) {
    running = runStreams(target, options);
    return running.areOpen;
  },
  streamsDone: () => running.areDone,
};

process.on('message', ({ id, command, argument }) => {
  Promise.try(handlers[command], argument).then(
    (result) => process.send?.({ id, result }),
    (error) => process.send?.({ id, error: error.stack }),
  );
});
process.on('disconnect', () => process.exit());
process.send?.({ ready: {} });

function prepared({ path, format, bytes, answer, agent }, headers) {
  const body = promptOf({ format, bytes, agent, stream: answer.kind === 'stream' });
  const heads = headers.map((own) =>
    Buffer.from(
      [
        `POST ${path} HTTP/1.1`,
        'host: 127.0.0.1',
        'content-type: application/json',
        'anthropic-version: 2023-06-01',
        `content-length: ${body.length}`,
        ...Object.entries(own).map(([name, value]) => `${name}: ${value}`),
        '\r\n',
      ].join('\r\n'),
    ),
  );
  let sent = 0;
  return {
    format,
    answer: answerOf(answer),
    body,
    nextHead: () => heads[sent++ % heads.length],
  };
}
