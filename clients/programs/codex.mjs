/**
 * Codex edits a file in a git repository, by the shell and by its patch tool, and resumes the
 * second conversation. It uses the Responses API. It also waits for a stream that is silent for
 * longer than its idle limit: the gateway's events must keep it from asking, and paying, again.
 * With a model that checks what precedes its thinking, it compacts its history in the middle of a
 * turn, and goes on in this turn and in the next. It says why a request of a user is refused whose
 * budget is used up.
 */

import { equal, match, ok } from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';

const CODEX = resolve('node_modules/.bin/codex');
const env = { ...process.env, CODEX_HOME: resolve('codex') };
const CONFIG = snippet('config.toml');
/** More tokens than a request without the output of a command has, and less than one with it. */
const COMPACT_AT = 6_100;
const repository = resolve('repository');

rmSync(env.CODEX_HOME, { recursive: true, force: true });
mkdirSync(env.CODEX_HOME, { recursive: true });
writeFileSync(join(env.CODEX_HOME, 'config.toml'), CONFIG);
rmSync(repository, { recursive: true, force: true });
mkdirSync(repository);
execFileSync('git', ['init', '--quiet'], { cwd: repository });
writeFileSync(join(repository, 'greeting.txt'), 'Title\nHello\n');
console.log(execFileSync(CODEX, ['--version'], { env, encoding: 'utf8' }));

// Codex does not offer its patch tool to a model that it does not know. Such a model calls the
// patch program in the shell.
const command = { cmd: `apply_patch <<'END'\n${patch('Hello', 'Hello from the shell')}END\n` };
const sandbox = ['--sandbox', 'workspace-write'];
report(
  'patch in the shell',
  codex(...sandbox, `Edit.\ntool:exec_command ${JSON.stringify(command)}`),
);
expectGreeting('Hello from the shell');

const models = snippet('catalog.toml');
writeFileSync(join(env.CODEX_HOME, 'config.toml'), CONFIG + models);
const edit = { input: patch('Hello from the shell', 'Hello from the patch tool') };
const edited = codex(...sandbox, `Edit.\ntool:apply_patch ${JSON.stringify(edit)}`);
report('patch tool', edited);
expectGreeting('Hello from the patch tool');

// The usage that Codex reports is that of the whole conversation.
const resumed = codex('resume', '--last', 'And again');
report('resume', since(edited, resumed));

// With one retry, a stream that Codex gave up would be asked for, and charged, a second time.
const impatient =
  'stream_idle_timeout_ms = 13000\nstream_max_retries = 1\nrequest_max_retries = 1\n';
writeFileSync(join(env.CODEX_HOME, 'config.toml'), CONFIG + models + impatient);
// F212: real Codex, with an upstream that is silent for longer than its limit: one answer, one
// charge. Run by `npm run clients -- codex`: Codex 0.171 gives up a stream after 13 s, and the
// upstream is silent for 30 s. If the gateway was silent for as long, Codex asked twice and failed.
report('silent stream', codex('Wait. silent:30000'));

writeFileSync(join(env.CODEX_HOME, 'config.toml'), CONFIG + models);
const binding = ['-m', 'claude-opus-5-5', '-c', `model_auto_compact_token_limit=${COMPACT_AT}`];
// After the compaction, the simulator finds the request of the user again. The second output is
// short.
const long = { cmd: '[ -e told ] || { touch told; seq 1 6000; }' };
const compacted = codex(...sandbox, ...binding, `Do:\ntool:exec_command ${JSON.stringify(long)}`);
report('compaction', compacted);
ok(hasCompacted(), 'there was no compaction');
const later = codex('resume', '--last', ...binding, 'And again');
report('resume after the compaction', since(compacted, later));

const start = performance.now();
const refused = spawnSync(CODEX, ['exec', '--json', 'Say hello'], {
  cwd: repository,
  env: { ...env, OPENAI_API_KEY: process.env.SPENT_API_KEY },
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'pipe'],
});
const seconds = ((performance.now() - start) / 1000).toFixed(1);
console.log(refused.stdout, refused.stderr);
equal(refused.status, 1);
match(
  refused.stdout,
  /the budget \\"the thesis\\" of the member \\".+\\" of 0\.00001 USD .*is used up; it renews at .*; ask chair@example\.com for more/,
);
report(`spent student, ended after ${seconds} s`, { input: 0, output: 0 });

/** @returns a block of docs/clients.md */
function snippet(name) {
  return execFileSync(process.execPath, [process.env.SNIPPET, name], { encoding: 'utf8' });
}

/** Whether Codex wrote into the record of any session that it compacted the history. */
function hasCompacted() {
  const sessions = join(env.CODEX_HOME, 'sessions');
  const records = readdirSync(sessions, { recursive: true }).filter((name) =>
    name.endsWith('.jsonl'),
  );
  return records.some((name) => /"type":"compacted"/.test(readFileSync(join(sessions, name))));
}

/** @returns the patch that replaces the second line of the file */
function patch(from, to) {
  const change = ['@@', ' Title', `-${from}`, `+${to}`];
  const lines = ['*** Begin Patch', '*** Update File: greeting.txt', ...change, '*** End Patch'];
  return lines.map((line) => `${line}\n`).join('');
}

/** @returns the usage of the conversation */
function codex(...args) {
  const output = execFileSync(CODEX, ['exec', '--json', ...args], {
    cwd: repository,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  console.log(output);
  const events = output
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  const { usage } = events.find(({ type }) => type === 'turn.completed');
  return { input: usage.input_tokens, output: usage.output_tokens };
}

function since(before, after) {
  return { input: after.input - before.input, output: after.output - before.output };
}

function expectGreeting(greeting) {
  const text = readFileSync(join(repository, 'greeting.txt'), 'utf8');
  equal(text, `Title\n${greeting}\n`);
}

function report(check, usage) {
  console.log(JSON.stringify({ check, usage }));
}
