/**
 * `--profile`: where a contestant's process spends its CPU time under one workload, in µs of each
 * answer, and what its main thread allocates. The samples are those of `perf`, because it counts
 * only time on a processor: V8's own profiler also counts the time in which a thread waits for one,
 * and gives that to the system call at which it lost it.
 */

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { step } from '../scripts/setup.mjs';
import { measure } from './measure.mjs';
import { categoryOf, isTransparent, sliceOf } from './profile-categories.mjs';
import { roomOf } from './source-rooms.mjs';
import { warmUp } from './warm-up.mjs';

/**
 * The warm-up ends when either limit is reached. With fewer answers, V8 would still be compiling.
 */
const WARM_UP_MS = 15_000;
const WARM_UP_ANSWERS = 30_000;
const MEASURED_MS = 5_000;
/** Not a divisor of a second, so that the samples do not follow a timer. */
const SAMPLES_PER_SECOND = 1_999;
const TOP = 40;
/** Time without a caller in JavaScript. */
const NOBODY = 'Node itself';

export async function profile(session, { contestant, work }) {
  if (spawnSync('perf', ['--version']).error !== undefined) {
    process.stderr.write('--profile needs perf (the package linux-perf)\n');
    return 1;
  }
  const dir = mkdtempSync(join(tmpdir(), 'gateway-profile-'));
  const allocated = join(dir, 'allocated.json');
  const sampler = new URL('sample-allocations.mjs', import.meta.url);
  sampler.searchParams.set('to', allocated);
  const named = ['--perf-basic-prof', '--interpreted-frames-native-stack'];
  const running = await session.start(contestant, [...named, '--import', sampler.href]);
  if (running.pid === undefined) throw new Error(`${contestant.name} has no process`);
  const run = (durationMs) =>
    measure({
      session,
      contestant: running,
      work,
      pace: work.phase === 'steady' && work.eventsPerSecond !== undefined ? 'paced' : 'full',
      act: (load) =>
        work.phase === 'steady'
          ? load.ask('steady', { perSecond: work.perSecond, durationMs, seed: 1 })
          : load.ask('busy', { connections: work.connections ?? 32, durationMs }),
    });
  step(`${work.title}: ${contestant.title}`);
  await warmUp(session, running, work, { durationMs: WARM_UP_MS, maxRequests: WARM_UP_ANSWERS });
  const perf = record(running.pid, join(dir, 'perf.data'));
  const { answered, failures } = await run(MEASURED_MS);
  await perf.stop();
  process.kill(running.pid, 'SIGUSR2');
  const { answered: sampled } = await run(MEASURED_MS);
  process.kill(running.pid, 'SIGUSR2');
  while (!existsSync(allocated)) await sleep(100);
  const sums = await sumsOf(join(dir, 'perf.data'), running.pid);
  await running.stop();
  for (const failure of failures) process.stdout.write(`    ${failure}\n`);
  printSums(sums, answered);
  printAllocations(JSON.parse(readFileSync(allocated, 'utf8')), sampled);
  rmSync(dir, { recursive: true, force: true });
  return failures.length === 0 ? 0 : 1;
}

function record(pid, to) {
  const clock = ['-e', 'cpu-clock', '-F', String(SAMPLES_PER_SECOND), '-g'];
  const child = spawn('perf', ['record', ...clock, '-p', String(pid), '-o', to]);
  const ended = new Promise((resolve) => child.once('close', resolve));
  return {
    stop() {
      child.kill('SIGINT');
      return ended;
    },
  };
}

/** @returns by thread, then by what is told apart, the number of samples */
async function sumsOf(data, pid) {
  // `perf` accepts the names of compiled functions only from a file of its own user.
  const child = spawn('perf', ['script', '-i', data, '-F', 'comm,tid,ip,sym']);
  const threads = new Map();
  let thread;
  let stack = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === '') {
      if (thread !== undefined && stack.length > 0) count(thread, stack);
      stack = [];
    } else if (line.startsWith('\t') || line.startsWith('  ')) {
      stack.push(line.trim().replace(/^[0-9a-f]+ /, ''));
    } else {
      const [, name, tid] = /^\s*(\S.*?)\s+(\d+)\s*$/.exec(line) ?? [];
      thread = threadOf(threads, name, Number(tid), pid);
    }
  }
  return threads;
}

/** V8's and libuv's helpers are many threads, and one thing. */
function threadOf(threads, name = '', tid = 0, pid = 0) {
  const key = tid === pid ? 'main thread' : /^Worker/.test(name) ? `${name} ${tid}` : name;
  let found = threads.get(key);
  if (found === undefined) {
    found = { samples: 0, slices: new Map(), rooms: new Map(), functions: new Map() };
    threads.set(key, found);
  }
  return found;
}

/** @param stack - names, the innermost first */
function count(thread, stack) {
  thread.samples += 1;
  const first = stack.findIndex((name) => name.startsWith('JS:'));
  // What a function of JavaScript calls, not what called it.
  const slice = sliceOf(first === -1 ? stack : stack.slice(0, first));
  const frames = stack.map(frameOf).filter((frame) => frame !== undefined);
  const owner = frames.find((frame) => !isTransparent(frame) && !frame.url.startsWith('node:'));
  const category = owner === undefined ? NOBODY : (roomOf(owner) ?? categoryOf(owner));
  add(thread.slices, slice ?? category, 1);
  add(thread.rooms, category, 1);
  const place = owner === undefined ? NOBODY : `${owner.functionName} (${category})`;
  add(thread.functions, slice === undefined ? place : `${place}: ${slice}`, 1);
}

/** A function of JavaScript, as `--perf-basic-prof` names it: `JS:*name file:///x.js:12:3`. */
function frameOf(name) {
  const [, functionName = '', url = '', line, column] =
    /^JS:[~^*+']*(\S*) (\S+):(\d+):(\d+)$/.exec(name) ?? [];
  if (url === '') return undefined;
  return { functionName, url, lineNumber: Number(line) - 1, columnNumber: Number(column) - 1 };
}

function add(sums, name, amount) {
  sums.set(name, (sums.get(name) ?? 0) + amount);
}

/** @returns the names with their sums */
function largest(sums) {
  return [...sums].sort((a, b) => b[1] - a[1]);
}

function printSums(threads, answered) {
  const us = (samples) => (samples * 1e6) / SAMPLES_PER_SECOND / answered;
  const line = ([name, samples]) => `  ${us(samples).toFixed(1).padStart(8)}  ${name}\n`;
  const all = [...threads.values()].reduce((sum, { samples }) => sum + samples, 0);
  let text = `\n${answered} answers, ${us(all).toFixed(1)} µs of CPU time each\n`;
  for (const [name, thread] of [...threads].sort((a, b) => b[1].samples - a[1].samples)) {
    if (us(thread.samples) < 1) continue;
    text += `\n${name}: ${us(thread.samples).toFixed(1)} µs of each answer\n`;
    text += `  by what it does\n${largest(thread.slices).map(line).join('')}`;
    text += `  by who called for it\n${largest(thread.rooms).map(line).join('')}`;
    text += `  by function\n${largest(thread.functions).slice(0, TOP).map(line).join('')}`;
  }
  process.stdout.write(text);
}

/** The largest first, in bytes per answer. */
function printAllocations({ head, samples }, answered) {
  const bytes = new Map();
  for (const { nodeId, size } of samples) add(bytes, nodeId, size);
  const rooms = new Map();
  const functions = new Map();
  let total = 0;
  const visit = ({ id, callFrame, children }, caller) => {
    const own = callFrame.url === '' || callFrame.url.startsWith('node:') ? undefined : callFrame;
    const room = own === undefined ? caller : (roomOf(own) ?? categoryOf(own));
    const size = bytes.get(id) ?? 0;
    total += size;
    add(rooms, room, size);
    add(functions, `${callFrame.functionName} (${room})`, size);
    for (const child of children) visit(child, room);
  };
  visit(head, NOBODY);
  const line = ([name, size]) => `  ${(size / answered).toFixed(0).padStart(8)}  ${name}\n`;
  let text = `\nmain thread: ${(total / answered).toFixed(0)} bytes allocated for each answer\n`;
  text += `  by room\n${largest(rooms).map(line).join('')}`;
  text += `  by function\n${largest(functions).slice(0, TOP).map(line).join('')}`;
  process.stdout.write(text);
}
