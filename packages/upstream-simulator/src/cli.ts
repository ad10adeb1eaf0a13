#!/usr/bin/env node
/** `upstream-simulator`: the simulator as a command; {@link USAGE} lists its options. */

import { parseArgs } from 'node:util';
import { lenientRules } from './rules/rules.js';
import type { RuleName } from './rules/rules.js';
import { startUpstreamSimulator } from './server.js';

const USAGE = `Usage: upstream-simulator [options]

Serves Anthropic's Messages API on this machine.

  --host <address>       where to listen (127.0.0.1)
  --port <number>        0 chooses a free one (8090)
  --api-key <key>        the only credential that is accepted; any when absent
  --latency-ms <ms>      before the first byte of a response (0)
  --event-delay-ms <ms>  between the events of a stream (0)
  --journal <file>       append each request and usage, as lines of JSON
  --lenient <rules>      rules that are not applied, separated by commas
  --help                 print this
`;

interface Options {
  readonly host: string;
  readonly port: number;
  readonly apiKey: string | undefined;
  readonly latencyMs: number;
  readonly eventDelayMs: number;
  readonly journalFile: string | undefined;
  readonly lenient: readonly RuleName[];
}

/**
 * @returns `undefined` if only help is asked for
 * @throws {TypeError} that names the option that is unknown or invalid
 */
function readOptions(): Options | undefined {
  const { values } = parseArgs({
    options: {
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string', default: '8090' },
      'api-key': { type: 'string' },
      'latency-ms': { type: 'string', default: '0' },
      'event-delay-ms': { type: 'string', default: '0' },
      journal: { type: 'string' },
      lenient: { type: 'string', default: '' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return undefined;
  const wholeNumber = (name: 'port' | 'latency-ms' | 'event-delay-ms', largest: number): number => {
    const text = values[name];
    if (/^\d+$/.test(text) && Number(text) <= largest) return Number(text);
    throw new TypeError(
      `--${name}: must be a whole number from 0 to ${String(largest)}, not "${text}"`,
    );
  };
  return {
    host: values.host,
    port: wholeNumber('port', 65_535),
    apiKey: values['api-key'],
    latencyMs: wholeNumber('latency-ms', LONGEST_MS),
    eventDelayMs: wholeNumber('event-delay-ms', LONGEST_MS),
    journalFile: values.journal,
    lenient: lenientRules(values.lenient.split(',').filter(Boolean)),
  };
}

/** The longest timer of Node. */
const LONGEST_MS = 2 ** 31 - 1;

async function serve({ apiKey, journalFile, ...options }: Options): Promise<void> {
  const simulator = await startUpstreamSimulator({
    ...options,
    allowScriptHeader: true,
    allowScriptText: true,
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(journalFile === undefined ? {} : { journalFile }),
  });
  const stop = (): void => {
    void simulator.close();
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  // Printed after the signal handlers are installed, because the reader of this line may send a
  // signal.
  process.stdout.write(`The upstream simulator listens on ${simulator.url}\n`);
}

try {
  const options = readOptions();
  if (options === undefined) process.stdout.write(USAGE);
  else await serve(options);
} catch (error) {
  // A mistake of the person who typed, such as a wrong option or a port in use, needs no stack.
  const isRefusal = error instanceof TypeError || (error instanceof Error && 'syscall' in error);
  if (!isRefusal) throw error;
  process.stderr.write(`upstream-simulator: ${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
}
