/**
 * The built gateway as a process of its own, which can be killed and stopped; and its commands, in
 * this process.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { runCommandLine } from '../../src/cli/run.js';

export const MAIN = join(__dirname, '../../dist/main.js');

/**
 * What gateways inherit of the environment: where programs are, the code that Node compiled for an
 * earlier one, and whether they are tuned, which the nightly run turns off.
 */
const { PATH, NODE_COMPILE_CACHE, TUNING } = process.env;
export const INHERITED = { PATH, NODE_COMPILE_CACHE, TUNING };

export interface GatewayProcess {
  readonly pid: number;
  /** Root of the client-facing server, without `/v1`. */
  readonly url: string;
  readonly adminUrl: string;
  /** Standard output and error so far. */
  output(): string;
  /** Standard error alone so far, where Node and V8 write their warnings. */
  errorOutput(): string;
  send(signal: NodeJS.Signals): void;
  /** Its exit code, null when a signal ended it. */
  readonly exited: Promise<number | null>;
}

/**
 * Resolves when it is ready. `npm test` builds the gateway first. If Jest is run directly, run `npm
 * run build` before.
 *
 * @param how - The Node that runs it, by default the one that runs the tests, or a whole command.
 */
export async function spawnGateway(
  env: Readonly<Record<string, string>>,
  how: string | readonly string[] = process.execPath,
): Promise<GatewayProcess> {
  if (!existsSync(MAIN)) throw new Error(`${MAIN} is not built`);
  const [program, ...args] = typeof how === 'string' ? [how, MAIN] : how;
  const child = spawn(program!, args, {
    env: { ...INHERITED, PORT: '0', ADMIN_PORT: '0', ...env },
    stdio: 'pipe',
  });
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  let output = '';
  let errorOutput = '';
  child.stderr.on('data', (bytes: Buffer) => (errorOutput += bytes.toString()));
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (bytes: Buffer) => (output += bytes.toString()));
  }
  while (!/Farthing is ready[^]*\/metrics/.test(output)) {
    if (child.exitCode !== null) throw new Error(`the gateway ended: ${output}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    pid: child.pid!,
    url: /ready: {2}(http\S+)\/v1/.exec(output)![1]!,
    adminUrl: /Admin: +(http\S+)/.exec(output)![1]!,
    output: () => output,
    errorOutput: () => errorOutput,
    send: (signal) => child.kill(signal),
    exited,
  };
}

export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/**
 * Runs a command to its end in this process, such as `['keys', 'list']`. That costs a tenth of the
 * CPU time of {@link commandProcess}. One at a time: it replaces the environment and the output of
 * this process meanwhile.
 *
 * @param columns - The width of the terminal that the output goes to; absent: it is a pipe.
 */
export async function gatewayCommand(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  columns?: number,
): Promise<CommandResult> {
  const { stdout, stderr } = process;
  const terminal = { isTTY: stdout.isTTY, columns: stdout.columns };
  const before = { env: process.env, exitCode: process.exitCode };
  const text = { out: '', err: '' };
  const collect = (name: keyof typeof text) => {
    return (chunk: string | Uint8Array, ...rest: readonly unknown[]) => {
      text[name] += String(chunk);
      const done = rest.at(-1);
      if (typeof done === 'function') process.nextTick(done);
      return true;
    };
  };
  const writes = [
    jest.spyOn(stdout, 'write').mockImplementation(collect('out')),
    jest.spyOn(stderr, 'write').mockImplementation(collect('err')),
  ];
  process.env = { ...INHERITED, ...env };
  process.exitCode = undefined;
  Object.assign(stdout, { isTTY: columns !== undefined, columns });
  try {
    await runCommandLine(args);
    return { code: Number(process.exitCode ?? 0), ...text };
  } finally {
    Object.assign(process, before);
    Object.assign(stdout, terminal);
    for (const write of writes) write.mockRestore();
  }
}

/** Runs a command of the built gateway to its end, as a process of its own. */
export async function commandProcess(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<CommandResult> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...INHERITED, ...env },
    stdio: 'pipe',
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()));
  child.stderr.on('data', (bytes: Buffer) => (err += bytes.toString()));
  const [code] = (await once(child, 'close')) as [number];
  return { code, out, err };
}
