/**
 * Links between documents lead somewhere, what the README tells a newcomer to type works, and the
 * commands that documents name can be typed.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Command, CommanderError } from 'commander';
import { headingsOf } from '../../../../scripts/headings.cjs';
import { createProgram } from '../../src/cli/program.js';
import { gatewayCommand } from '../support/gateway-process.js';
import { startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

const ROOT = resolve(__dirname, '../../../..');
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const COMMANDS = [...README.matchAll(/^```\n(.*?)^```/gms)].map(([, text]) => text!.trim());

describe('the documents', () => {
  const files = execFileSync('git', ['ls-files', '*.md'], { cwd: ROOT, encoding: 'utf8' })
    .trim()
    .split('\n');

  it('link to files and headings that exist', () => {
    const dead = files.flatMap((file) =>
      linksOf(readText(file))
        .filter((link) => !leads(file, link))
        .map((link) => `${file}: ${link}`),
    );
    expect(files.length).toBeGreaterThan(50);
    expect(dead).toEqual([]);
  });

  // The limit is about prose that people maintain, and that others must read through. The site adds
  // pages of its own only from docstrings, and those are not committed.
  it('have at most 47,400 words together, without what the code or the benchmark writes', () => {
    const measured = /<!-- measured: begin -->.*<!-- measured: end -->/su;
    const isMade =
      /^\.changeset\/|\/etc\/|^packages\/translator\/docs\/mapping\.md$|^docs\/errors\.md$|^docs\/decisions\/README\.md$|^AGENTS\.md$/;
    // What remains of a decision that is superseded.
    const isOneLine = /^# \d{4}: .*\n\n_.*_\n$/;
    const words = files
      .filter((file) => !isMade.test(file))
      .map((file) => readText(file).replace(measured, ''))
      .filter((text) => !isOneLine.test(text))
      .map((text) => text.trim().split(/\s+/).length);
    expect(words.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(47_400);
  });

  function leads(from: string, link: string): boolean {
    const [path = '', heading] = link.split('#');
    const file = path === '' ? from : join(dirname(from), path);
    if (!existsSync(join(ROOT, file))) return false;
    return heading === undefined || !file.endsWith('.md') || anchorsOf(file).has(heading);
  }
});

describe('the README', () => {
  const ADMIN_TOKEN = 'token-of-the-operator-for-this-test';
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ env: { ADMIN_TOKEN } });
  });
  afterAll(() => gateway.stop());

  it('has at most 700 words, and no line that a narrow window would break', () => {
    expect(README.split(/\s+/).length).toBeLessThanOrEqual(700);
    expect(README.split('\n').filter((line) => line.length > 100)).toEqual([]);
  });

  it('asks a question that is answered', async () => {
    const { apiKey } = await gateway.createKey();
    const command = COMMANDS.find((text) => text.startsWith('curl'));
    const [, address] = /http:\/\/[^/]+(\/\S+)/.exec(command!)!;
    const headers = [...command!.matchAll(/-H "([^:]+): ([^"]+)"/g)].map(
      ([, name, value]): [string, string] => [name!, value!.replace('<API_KEY>', apiKey)],
    );
    const [, body] = /-d '(.*)'/.exec(command!)!;
    const response = await fetch(gateway.url + address!, { method: 'POST', headers, body: body! });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ type: 'message' });
  });

  it('creates a key with a budget', async () => {
    const command = COMMANDS.find((text) => text.startsWith('npx farthing keys create '));
    const args = command!.replace('npx farthing ', '').split(' ');
    const { code, out } = await gatewayCommand([...args, '--json'], {
      ADMIN_URL: gateway.adminUrl,
      ADMIN_TOKEN,
    });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ caps: { month: { cap_usd: '50' } } });
  });
});

it('the handbook has at most 6,400 words', () => {
  expect(readText('docs/operating.md').split(/\s+/).length).toBeLessThanOrEqual(6_400);
});

describe('the commands in the documents', () => {
  const files = [
    'README.md',
    'docs/operating.md',
    'docs/cli.md',
    'docs/errors.md',
    'docs/payments.md',
  ];
  const typed = files.flatMap((file) =>
    commandsIn(readText(file)).map(({ text, isWhole }) => ({ file, text, isWhole })),
  );

  it('are found', () => {
    expect(typed.length).toBeGreaterThan(60);
  });

  it.each(typed)('can be typed: $text ($file)', async ({ text, isWhole }) => {
    const program = createProgram();
    disarm(program);
    const parsing = program.parseAsync(argumentsOf(text), { from: 'user' });
    await parsing.catch((error: CommanderError) => {
      // A sentence may name a command without its arguments.
      if (isWhole || !error.code.startsWith('commander.missing')) throw error;
    });
  });
});

/** Code that begins with the name of the program: whole lines of blocks, and words in sentences. */
function commandsIn(text: string): readonly { readonly text: string; readonly isWhole: boolean }[] {
  const blocks = [...text.matchAll(/^ *```\n(.*?)^ *```/gms)].flatMap(([, code]) =>
    code!.split('\n'),
  );
  const words = [...text.matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!);
  const program =
    /^(?:[A-Z_]+=\S+ +)*(?:(?:npx )?(?:farthing|gateway)|npm run (?:-s )?(?:farthing|gateway) --) +([a-z].*)$/;
  const after = (line: string): string | readonly string[] => program.exec(line.trim())?.[1] ?? [];
  return [
    ...blocks.flatMap(after).map((command) => ({ text: command, isWhole: true })),
    ...words.flatMap(after).map((command) => ({ text: command, isWhole: false })),
  ];
}

/** The arguments, with whole ids, and without a comment or a redirection. */
function argumentsOf(text: string): readonly string[] {
  const [command = ''] = text.replaceAll('_…', '_a').split(/ +(?:#|>) /);
  return command.trim().split(/ +/);
}

/** Keeps the command and its subcommands from doing anything but reading their arguments. */
function disarm(command: Command): void {
  command.action(() => undefined).configureOutput({ writeErr: () => undefined });
  for (const each of command.commands) disarm(each);
}

function readText(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

/** Links within the repository. Code is left out, as it contains what looks like links. */
function linksOf(text: string): readonly string[] {
  const prose = text.replace(/^```.*?^```/gms, '').replace(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link!)
    .filter((link) => !/^[a-z]+:/.test(link));
}

/** The anchors that GitHub gives to headings. */
function anchorsOf(file: string): ReadonlySet<string> {
  return new Set(headingsOf(readText(file)).map(({ anchor }) => anchor));
}
