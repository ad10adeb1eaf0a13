#!/usr/bin/env node
/**
 * `upstream-simulator [--host 127.0.0.1] [--port 8090] [--api-key KEY] [--latency-ms 0]
 * [--event-delay-ms 0] [--journal FILE] [--lenient RULE,RULE]`
 */

import { parseArgs } from 'node:util';
import { lenientRules } from './rules/rules.js';
import { startUpstreamSimulator } from './server.js';

const { values } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '8090' },
    'api-key': { type: 'string' },
    'latency-ms': { type: 'string', default: '0' },
    'event-delay-ms': { type: 'string', default: '0' },
    journal: { type: 'string' },
    lenient: { type: 'string', default: '' },
  },
});
const simulator = await startUpstreamSimulator({
  host: values.host,
  port: Number(values.port),
  latencyMs: Number(values['latency-ms']),
  eventDelayMs: Number(values['event-delay-ms']),
  lenient: lenientRules(values.lenient.split(',').filter(Boolean)),
  allowScriptHeader: true,
  allowScriptText: true,
  ...(values['api-key'] === undefined ? {} : { apiKey: values['api-key'] }),
  ...(values.journal === undefined ? {} : { journalFile: values.journal }),
});
const stop = (): void => {
  void simulator.close();
};
process.on('SIGTERM', stop);
process.on('SIGINT', stop);
// Printed after the signal handlers are installed, because the reader of this line may send a
// signal.
process.stdout.write(`The upstream simulator listens on ${simulator.url}\n`);
