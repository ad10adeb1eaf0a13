/**
 * Claude Code writes a file, continues the conversation, searches the web by its own tool, asks
 * each of its aliases for models, compacts the conversation and goes on with it, and stops when its
 * key has no balance left, or its user's budget is used up.
 */

import { equal, match } from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';

const CLAUDE = resolve('node_modules/.bin/claude');
const MODEL = ['--model', 'claude-opus-5'];
const JSON_OUTPUT = ['--output-format', 'json'];
/** The names that its own list of models offers. */
const ALIASES = ['fable', 'opus', 'sonnet', 'haiku'];
const folder = resolve('work');

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
console.log(spawnSync(CLAUDE, ['--version'], { encoding: 'utf8' }).stdout);

const file = join(folder, 'greeting.txt');
const input = JSON.stringify({ file_path: file, content: 'Hello\n' });
usageOf(...MODEL, `Do this:\ntool:Write ${input}`);
equal(readFileSync(file, 'utf8'), 'Hello\n');
// Its usage is that of the whole conversation.
report('file tool, continued', usageOf(...MODEL, '--continue', 'And again'));
// Its tool sends a request of its own, which has the upstream's search.
const query = JSON.stringify({ query: 'search for Bern' });
const searched = claude(
  // Otherwise it offers this tool only after a search for tools.
  { ENABLE_TOOL_SEARCH: 'false' },
  ...JSON_OUTPUT,
  ...MODEL,
  '--allowedTools=WebSearch',
  `Do:\ntool:WebSearch ${query}`,
);
match(searched.stdout, /"webSearchRequests":1,/);
report('WebSearch', usageIn(searched.stdout));
for (const alias of ALIASES) report(alias, usageOf('--model', alias, 'Say hello'));
// After a compaction it changes the effort of the conversation by a message without content.
const compacted = claude({}, ...JSON_OUTPUT, ...MODEL, '--continue', '/compact');
report('compaction', usageIn(compacted.stdout));
report('after the compaction', usageOf(...MODEL, '--continue', 'And again'));

for (const [whose, key, reason] of [
  ['exhausted key', process.env.EXHAUSTED_API_KEY, /balance is used up/],
  [
    'spent student',
    process.env.SPENT_API_KEY,
    /the budget "the thesis" of the member ".+" of 0\.00001 USD .*is used up; it renews at .*; ask chair@example\.com for more/,
  ],
]) {
  const start = performance.now();
  const refused = claude({ ANTHROPIC_API_KEY: key }, ...MODEL, 'Say hello');
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(refused.stdout);
  equal(refused.status, 1);
  match(refused.stdout, reason);
  report(`${whose}, ended after ${seconds} s`, { input: 0, output: 0 });
}

function claude(env, ...args) {
  return spawnSync(CLAUDE, ['-p', '--permission-mode', 'acceptEdits', ...args], {
    cwd: folder,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 60_000,
  });
}

/** @returns the tokens that Claude Code says it used */
function usageOf(...args) {
  return usageIn(claude({}, ...JSON_OUTPUT, ...args).stdout);
}

function usageIn(stdout) {
  console.log(stdout);
  let [input, output] = [0, 0];
  for (const model of Object.values(JSON.parse(stdout).modelUsage)) {
    input += model.inputTokens + model.cacheReadInputTokens + model.cacheCreationInputTokens;
    output += model.outputTokens;
  }
  return { input, output };
}

function report(check, usage) {
  console.log(JSON.stringify({ check, usage }));
}
