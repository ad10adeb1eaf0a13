#!/usr/bin/env node
/**
 * A status line for Claude Code: what is left of your nearest budget or cap at the gateway, such as
 * `course Databases: 3.20 of 20 USD left until 1 Dec`. It needs nothing but Node, and the variables
 * that Claude Code uses. In ~/.claude/settings.json:
 *
 *   { "statusLine": { "type": "command", "command": "node ~/.claude/status-line.mjs" } }
 *
 * Claude Code runs it after each message, and in each of its windows, so an answer is kept for
 * KEPT_MS. Without a new answer it prints the last one with its time. The reason goes to stderr,
 * which `claude --debug` shows.
 */

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';

const KEPT_MS = 20_000;
/** Since the process started: on a busy machine, the start of Node takes a good part of it. */
const PATIENCE_MS = 800;
const LEAST_PATIENCE_MS = 100;
/** An older answer says too little about now. */
const OLDEST_MS = 3_600_000;

const { ANTHROPIC_AUTH_TOKEN, ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, XDG_CACHE_HOME } = process.env;
const key = ANTHROPIC_AUTH_TOKEN || ANTHROPIC_API_KEY;
if (!key || !ANTHROPIC_BASE_URL) {
  console.error('ANTHROPIC_BASE_URL and ANTHROPIC_AUTH_TOKEN, or ANTHROPIC_API_KEY, are not set');
  process.exit();
}
const url = `${ANTHROPIC_BASE_URL.replace(/\/+$/, '')}/v1/dashboard/balance`;

// In the user's own folder: in a shared one, others could write to this terminal.
const folder = join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'farthing');
// Only a hash: the key stays where it is.
const file = join(folder, createHash('sha256').update(`${url}\n${key}`).digest('hex').slice(0, 24));

const now = Date.now();
const known = readKnown();
if (known !== undefined && now < known.askAt) {
  print(known);
} else {
  const asked = await ask();
  keep(asked);
  print(asked);
}
// A look-up of a name may still be under way, and would keep the process alive.
process.exit();

/** @returns the answer, or the last one if there is none; `askAt` is when to ask again */
async function ask() {
  let waitMs = KEPT_MS;
  try {
    const response = await fetch(url, {
      headers: { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(
        Math.max(LEAST_PATIENCE_MS, Math.floor(PATIENCE_MS - performance.now())),
      ),
    });
    if (response.ok) return { line: lineOf(await response.json()), at: now, askAt: now + KEPT_MS };
    waitMs = Math.max(KEPT_MS, 1_000 * (Number(response.headers.get('retry-after')) || 0));
    console.error(`${url}: ${response.status} ${await response.text()}`);
  } catch (error) {
    console.error(`${url}: ${error}`);
  }
  return { line: known?.line ?? '', at: known?.at ?? now, askAt: now + waitMs };
}

function lineOf({ is_active: isActive, balance_usd: balance, caps = [], budgets = [] }) {
  if (!isActive) return `this key is disabled, balance ${cents(balance)} USD`;
  const limits = [
    ...budgets.filter(({ action }) => action === 'refuse').filter((one) => !isPaidFor(one)),
    ...caps.map(({ period, cap_usd: amount_usd, ...cap }) => ({
      name: period === 'total' ? 'cap in all' : `cap per ${period}`,
      amount_usd,
      ...cap,
    })),
  ];
  const [nearest] = limits.sort((a, b) => Number(a.left_usd) - Number(b.left_usd));
  if (nearest === undefined) return `${cents(balance)} USD left`;
  const { name, left_usd: left, amount_usd: amount, renews_at: renewsAt } = nearest;
  // A name with control characters could move the cursor.
  const shown = name.replace(/\p{C}/gu, ' ');
  return `${shown}: ${cents(left)} of ${amount} USD left${renewsAt ? ` until ${day(renewsAt)}` : ''}`;
}

/** Whether its reserve pays, which is a budget of its own. */
function isPaidFor({ left_usd: left, then_name: then }) {
  return then != null && Number(left) === 0;
}

/** Rounds down, so that it never promises more than there is. */
function cents(usd) {
  return Number(usd).toFixed(14).slice(0, -12);
}

function day(time) {
  return new Date(time).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
}

function print({ line, at }) {
  const age = now - at;
  if (line === '' || age > OLDEST_MS) return;
  const clock = new Date(at).toTimeString().slice(0, 5);
  process.stdout.write(age < 2 * KEPT_MS ? `${line}\n` : `${line} (at ${clock})\n`);
}

function readKnown() {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

/** Writes a file of its own first: several windows may write at once. */
function keep(asked) {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const own = `${file}.${process.pid}`;
    writeFileSync(own, JSON.stringify(asked), { mode: 0o600 });
    renameSync(own, file);
  } catch (error) {
    console.error(`${file}: ${error}`);
  }
}
