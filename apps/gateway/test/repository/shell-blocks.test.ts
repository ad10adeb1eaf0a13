/**
 * Each block of shell commands in the documents of the site is run: by a test of its document, by
 * the stranger's script, or, if it names scripts of this repository, by CI. What is not run has a
 * reason here.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { textUnder } from '../../../../scripts/headings.cjs';

const ROOT = resolve(__dirname, '../../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Documents whose blocks are all run, and the test that runs them. */
const RUN_BY: Readonly<Record<string, string>> = {
  'docs/budgets.md': 'apps/gateway/test/repository/budgets-page.test.ts',
  'docs/operating.md': 'apps/gateway/test/repository/handbook.test.ts',
  'docs/cli.md': 'apps/gateway/test/repository/typed-commands.test.ts',
  'docs/payments.md': 'apps/gateway/test/repository/typed-commands.test.ts',
};

const NEWEST_CLIENTS = '`npm run clients` runs it, with the newest version that it downloads';
/** Blocks that nothing runs in CI, by their document and first line. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'README.md: ANTHROPIC_BASE_URL=http://127.0.0.1:8080 ANTHROPIC_AUTH_TOKEN=<API_KEY> claude':
    NEWEST_CLIENTS,
  'docs/clients.md: CHAT_JSON_SCHEMA=native CHAT_REASONING=reasoning_content ALLOW_FEATURES=web_search':
    NEWEST_CLIENTS,
  'docs/clients.md: curl -fsS "$ANTHROPIC_BASE_URL/dashboard/status-line.mjs" -o ~/.claude/status-line.mjs':
    '`status-line.test.ts` runs it',
  'docs/clients.md: llm keys set openai     # the API key': NEWEST_CLIENTS,
  'docs/clients.md: export ANTHROPIC_BASE_URL=http://127.0.0.1:8080': NEWEST_CLIENTS,
  'docs/clients.md: export OPENAI_API_BASE=http://127.0.0.1:8080/v1 OPENAI_API_KEY=<API_KEY>':
    NEWEST_CLIENTS,
  'docs/clients.md: cline auth -p openai -k <API_KEY> -m claude-opus-5 -b http://127.0.0.1:8080/v1':
    NEWEST_CLIENTS,
  'apps/gateway/README.md: npx farthing keys create --name alice --balance 20     # while it serves, or not':
    '`release:dry` creates a key with the package; the other lines only print',
};

/** Scripts of package.json that the documents name and that CI does not run. */
const NOT_IN_CI: Readonly<Record<string, string>> = {
  start: 'check:bare types it, and so do the tests of the process',
  demo: 'demo.test.ts fills and asks the same ledger',
  questions: 'a person judges its answers',
  faults: 'faults.test.ts runs it',
  bench: 'judges only on a quiet machine',
  'test:quick': '`npm test` runs the same tests',
  changeset: 'asks its user',
  'check:workflows': '`npm run lint` runs it',
  'check:schemathesis': 'needs Python, and sends thousands of requests',
};

interface Block {
  readonly file: string;
  readonly lines: readonly string[];
}

const files = execFileSync('git', ['ls-files', '*.md'], { cwd: ROOT, encoding: 'utf8' })
  .trim()
  .split('\n')
  .filter((file) => !/^\.|^AGENTS\.md$|\/etc\/|^docs\/decisions\/|CHANGELOG\.md$/.test(file));
const blocks = files.flatMap((file) => blocksOf(file, read(file)));

describe('the shell blocks of the documents', () => {
  const FIRST_STEPS = blocksOf('README.md', textUnder(read('README.md'), 'Start'));
  const isFirstStep = ({ lines }: Block) =>
    FIRST_STEPS.some((step) => step.lines.join('\n') === lines.join('\n'));

  it('are run, or a reason says why not', () => {
    expect(blocks.length).toBeGreaterThan(40);
    const forgotten = blocks
      .filter((block) => !(block.file in RUN_BY) && !isFirstStep(block) && !isOfScripts(block))
      .map(nameOf)
      .filter((name) => !(name in NOT_RUN));
    expect(forgotten).toEqual([]);
  });

  it('that are not run exist', () => {
    const names = blocks.map(nameOf);
    expect(Object.keys(NOT_RUN).filter((name) => !names.includes(name))).toEqual([]);
  });

  it('of a document with a test are read by that test', () => {
    for (const [file, test] of Object.entries(RUN_BY)) {
      const reader = test.includes('handbook') ? 'apps/gateway/test/support/handbook.ts' : test;
      expect(read(reader)).toContain(file);
    }
  });

  it('name scripts that exist and that CI runs, or a reason says why it does not', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const named = new Set(blocks.filter(isOfScripts).flatMap(({ lines }) => lines.map(scriptOf)));
    expect(named.size).toBeGreaterThan(20);
    expect([...named].filter((name) => !(name in scripts))).toEqual([]);
    const idle = [...named].filter((name) => !inCi(name) && !(name in NOT_IN_CI));
    expect(idle).toEqual([]);
    expect(Object.keys(NOT_IN_CI).filter((name) => !named.has(name))).toEqual([]);
  });
});

/** Whether CI or a workflow runs a script of package.json. */
function inCi(name: string): boolean {
  const workflows = readdirSync(join(ROOT, '.github/workflows'));
  const texts = ['.ci/run', ...workflows.map((file) => `.github/workflows/${file}`)].map(read);
  return texts.some((text) => new RegExp(`(?<![\\w:-])${name}(?![\\w:-])`).test(text));
}

function nameOf({ file, lines }: Block): string {
  return `${file}: ${lines[0] ?? ''}`;
}

/** A block in which each line runs a script of this repository. */
function isOfScripts({ lines }: Block): boolean {
  return lines.every((line) => SCRIPT.test(line));
}

const SCRIPT =
  /^(?:[A-Z_]+=\S+ )*(?:npm (?:run )?(?:-s )?|npx -y pnpm@[\d.]+ |bash \.(?=ci\/run))([\w:-]+)/;

function scriptOf(line: string): string {
  return SCRIPT.exec(line)?.[1] ?? line;
}

/** Blocks without a language are typed into a shell. */
function blocksOf(file: string, text: string): readonly Block[] {
  const fences = [...text.matchAll(/^ *```(.*)\n([^]*?)^ *```$/gm)];
  return fences
    .filter(([, language]) => language === '')
    .map(([, , code]) => ({
      file,
      lines: code!.split('\n').filter((line) => line.trim() !== ''),
    }));
}
