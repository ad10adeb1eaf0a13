/** Reads CPU time, memory and descendants of processes from Linux. */

import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';

const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** User and system time of a process with its threads, its descendants, and ended children. */
export function cpuSecondsOf(pid) {
  return family(pid).reduce((sum, { ticks }) => sum + ticks, 0) / TICKS_PER_SECOND;
}

/** Busy time of all cores together. */
export function machineBusySeconds() {
  const [line] = readFileSync('/proc/stat', 'latin1').split('\n');
  const [user, nice, system, , , irq, softirq, steal] = line
    .trim()
    .split(/ +/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softirq + steal) / TICKS_PER_SECOND;
}

/** Resident memory of a process and its descendants. */
export function memoryBytesOf(pid) {
  return family(pid).reduce((sum, member) => sum + residentBytes(member.pid), 0);
}

/** The child of this process with that name, such as a server started by `scripts/servers.mjs`. */
export function childNamed(name) {
  return processes().find((entry) => entry.parent === process.pid && entry.name === name)?.pid;
}

function family(pid) {
  const all = processes();
  const members = all.filter((entry) => entry.pid === pid);
  for (const member of members) members.push(...all.filter(({ parent }) => parent === member.pid));
  return members;
}

function processes() {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => stat(Number(name)))
    .filter((entry) => entry !== undefined);
}

/** Columns as in proc(5). The name, in parentheses, may contain spaces. */
function stat(pid) {
  let text;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
  const nameEnd = text.lastIndexOf(')');
  const columns = text.slice(nameEnd + 2).split(' ');
  const [user, system, userOfEnded, systemOfEnded] = columns.slice(11, 15).map(Number);
  return {
    pid,
    name: text.slice(text.indexOf('(') + 1, nameEnd),
    parent: Number(columns[1]),
    ticks: user + system + userOfEnded + systemOfEnded,
  };
}

function residentBytes(pid) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
