/**
 * Codex edits a file in a git repository, by the shell and by its patch tool, and resumes the
 * second conversation. It uses the Responses API. It also waits for a stream that is silent for
 * longer than its idle limit: the gateway's events must keep it from asking, and paying, again.
 */

import { equal } from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const CODEX = resolve('node_modules/.bin/codex');
const env = { ...process.env, CODEX_HOME: resolve('codex') };
const CONFIG = `
model = "claude-opus-5"
model_provider = "gateway"

[model_providers.gateway]
name = "gateway"
base_url = "${process.env.OPENAI_BASE_URL}"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
`;
const repository = resolve('repository');

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

const models = `model_catalog_url = "${process.env.OPENAI_BASE_URL}/models"\n`;
writeFileSync(join(env.CODEX_HOME, 'config.toml'), CONFIG + models);
const input = { input: patch('Hello from the shell', 'Hello from the patch tool') };
const edited = codex(...sandbox, `Edit.\ntool:apply_patch ${JSON.stringify(input)}`);
report('patch tool', edited);
expectGreeting('Hello from the patch tool');

// The usage that Codex reports is that of the whole conversation.
const resumed = codex('resume', '--last', 'And again');
report('resume', { input: resumed.input - edited.input, output: resumed.output - edited.output });

// With one retry, a stream that Codex gave up would be asked for, and charged, a second time.
const impatient =
  'stream_idle_timeout_ms = 3000\nstream_max_retries = 1\nrequest_max_retries = 1\n';
writeFileSync(join(env.CODEX_HOME, 'config.toml'), CONFIG + models + impatient);
report('silent stream', codex('Wait. silent:8000'));

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

function expectGreeting(greeting) {
  const text = readFileSync(join(repository, 'greeting.txt'), 'utf8');
  equal(text, `Title\n${greeting}\n`);
}

function report(check, usage) {
  console.log(JSON.stringify({ check, usage }));
}
