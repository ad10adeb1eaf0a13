/**
 * `--profile`: the functions in which a contestant's process spends its CPU time under one
 * workload, and those of its main thread that allocate, each by the room of the source.
 */

import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { step } from '../scripts/setup.mjs';
import { measure } from './measure.mjs';
import { warmUp } from './warm-up.mjs';
import { categoryOf, isRuntime, isTransparent, placeOf } from './profile-categories.mjs';
import { roomOf } from './source-rooms.mjs';

/**
 * The warm-up ends when either limit is reached. With fewer answers, V8 would still be compiling.
 */
const WARM_UP_MS = 15_000;
const WARM_UP_ANSWERS = 30_000;
const MEASURED_MS = 5_000;
const INTERVAL_US = 500;
const TOP = 25;
/** Category of calls from Node's own queues, whose caller is not known. */
const NOBODY = 'Node: its own queues, socket reads, garbage collection';
/** Functions with at least this share of the busy time are listed. */
const LEAST_SHARE = 0.002;

export async function profile(session, { contestant, work }) {
  const dir = mkdtempSync(join(tmpdir(), 'gateway-profile-'));
  const allocated = join(dir, 'allocated.json');
  const sampler = new URL('sample-allocations.mjs', import.meta.url);
  sampler.searchParams.set('to', allocated);
  const cpu = ['--cpu-prof', `--cpu-prof-dir=${dir}`, `--cpu-prof-interval=${INTERVAL_US}`];
  const flags = [...cpu, '--import', sampler.href];
  const running = await session.start(contestant, flags);
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
  const fromUs = nowUs();
  const { answered, failures } = await run(MEASURED_MS);
  const untilUs = nowUs();
  process.kill(running.pid, 'SIGUSR2');
  const { answered: sampled } = await run(MEASURED_MS);
  process.kill(running.pid, 'SIGUSR2');
  while (!existsSync(allocated)) await sleep(100);
  await running.stop();
  for (const failure of failures) process.stdout.write(`    ${failure}\n`);

  printAllocations(JSON.parse(readFileSync(allocated, 'utf8')), sampled);
  const threads = readdirSync(dir)
    .filter((file) => file.endsWith('.cpuprofile'))
    .map((file) => readProfile(JSON.parse(readFileSync(join(dir, file), 'utf8'))))
    .filter(({ busyUs }) => busyUs > 0)
    .sort((a, b) => b.busyUs - a.busyUs);
  rmSync(dir, { recursive: true, force: true });
  if (threads.length === 0) throw new Error(`${contestant.name} wrote no profile when it ended`);
  for (const [i, thread] of threads.entries()) print(thread, { answered, name: `thread ${i + 1}` });
  return failures.length === 0 ? 0 : 1;

  /** Counts only samples within the measured time, not those of start and warm-up. */
  function readProfile({ nodes, samples, timeDeltas, startTime }) {
    const byId = new Map(nodes.map((node) => [node.id, node]));
    const ownerOf = owners(nodes, (callFrame) => {
      const category = categoryOf(callFrame);
      return isRuntime(category) ? undefined : category;
    });
    const owned = new Map();
    const rooms = new Map();
    const callers = new Map();
    const roomOfNode = owners(nodes, (callFrame) => {
      const category = categoryOf(callFrame);
      return roomOf(callFrame) ?? (isRuntime(category) ? undefined : category);
    });
    const callerOf = owners(nodes, (callFrame) =>
      isRuntime(categoryOf(callFrame))
        ? undefined
        : `${callFrame.functionName} ${placeOf(callFrame)}`,
    );
    const functions = new Map();
    let busyUs = 0;
    let at = startTime;
    for (const [i, id] of samples.entries()) {
      at += timeDeltas[i];
      const { callFrame } = byId.get(id);
      if (at < fromUs || at > untilUs || callFrame.functionName === '(idle)') continue;
      const key = `${callFrame.functionName} ${placeOf(callFrame)}`;
      const known = functions.get(key) ?? { key, category: categoryOf(callFrame), us: 0 };
      // The function is counted as running until the next sample.
      const us = timeDeltas[i + 1] ?? 0;
      known.us += us;
      busyUs += us;
      functions.set(key, known);
      add(owned, ownerOf.get(id), us);
      add(rooms, roomOfNode.get(id), us);
      add(callers, callerOf.get(id), us);
    }
    return { functions: [...functions.values()], owned, rooms, callers, busyUs };
  }
}

function add(sums, name, amount) {
  sums.set(name, (sums.get(name) ?? 0) + amount);
}

/**
 * The name that the time of each node counts for: its own or, where it has none, as Node's own code
 * and native code, that of the nearest caller that has one.
 */
function owners(nodes, nameOf) {
  const result = new Map();
  // A profile lists parents before their children.
  for (const { id, callFrame, children = [] } of nodes) {
    const own = isTransparent(callFrame) ? undefined : nameOf(callFrame);
    const owner = own ?? result.get(id) ?? NOBODY;
    result.set(id, owner);
    for (const child of children) result.set(child, owner);
  }
  return result;
}

/** The largest first, in bytes per answer. */
function printAllocations({ head, samples }, answered) {
  const bytes = new Map();
  for (const { nodeId, size } of samples) add(bytes, nodeId, size);
  const rooms = new Map();
  const functions = new Map();
  let total = 0;
  const visit = ({ id, callFrame, children }, caller) => {
    const room = (isTransparent(callFrame) ? undefined : roomOf(callFrame)) ?? caller;
    const size = bytes.get(id) ?? 0;
    total += size;
    add(rooms, room, size);
    add(functions, `${callFrame.functionName} ${placeOf(callFrame)}`, size);
    for (const child of children) visit(child, room);
  };
  visit(head, NOBODY);
  const line = ([name, size]) => `  ${(size / answered).toFixed(0).padStart(8)}  ${name}\n`;
  let text = `\nmain thread: ${(total / answered).toFixed(0)} bytes allocated each\n`;
  text += `  in functions of, or called by, each room\n${largest(rooms).slice(0, TOP).map(line).join('')}`;
  text += `  in functions\n${largest(functions).slice(0, TOP).map(line).join('')}`;
  process.stdout.write(text);
}

function print({ functions, owned, rooms, callers, busyUs }, { answered, name }) {
  const perAnswer = (us) => (us / answered).toFixed(1).padStart(8);
  const share = (us) => `${((us / busyUs) * 100).toFixed(1)} %`.padStart(7);
  const line = (us, text) => `  ${perAnswer(us)} ${share(us)}  ${text}\n`;
  const categories = Object.entries(Object.groupBy(functions, ({ category }) => category))
    .map(([category, members]) => ({ category, members: heaviestFirst(members), us: sum(members) }))
    .sort((a, b) => b.us - a.us);
  let text = `\n${name}: ${answered} answers, ${(busyUs / answered).toFixed(1)} µs busy each\n`;
  text += '  µs/answer   share  whose code runs\n';
  for (const { category, us } of categories) text += line(us, category);
  text += '\n  µs/answer   share  whose code runs, including the time that Node spends for it\n';
  for (const [owner, us] of largest(owned)) text += line(us, owner);
  text += '\n  µs/answer   share  in which room of the source, including what it calls elsewhere\n';
  for (const [room, us] of largest(rooms)) text += line(us, room);
  text += '\n  µs/answer   share  in which function, including native code and statements\n';
  for (const [caller, us] of largest(callers).slice(0, TOP)) text += line(us, caller);
  for (const { category, members, us } of categories) {
    const listed = members.slice(0, TOP).filter((member) => member.us >= busyUs * LEAST_SHARE);
    if (listed.length === 0) continue;
    text += `\n  ${category} (${share(us).trim()})\n`;
    for (const member of listed) text += line(member.us, member.key);
  }
  process.stdout.write(text);
}

/** @returns the names with their sums */
function largest(sums) {
  return [...sums].sort((a, b) => b[1] - a[1]);
}

function heaviestFirst(members) {
  return members.sort((a, b) => b.us - a.us);
}

function sum(members) {
  return members.reduce((total, { us }) => total + us, 0);
}

/** The time on the clock that V8's profiles use. */
function nowUs() {
  return Number(process.hrtime.bigint() / 1000n);
}
