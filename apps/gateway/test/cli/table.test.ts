/** How tables fit a terminal, and that pipes get everything. */

import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { PLAIN, screenOf } from '../../src/cli/screen.js';
import type { Screen } from '../../src/cli/screen.js';
import { bar, shortTime, shortUsd, sparkline } from '../../src/cli/short-texts.js';
import { table } from '../../src/cli/table.js';
import { cellsOf, membersFrom } from '../../src/endpoints/resource.js';
import { text, usd } from '../../src/endpoints/schemas/basics.js';

const ROWS = [
  { id: 'acct_01a0ea3e5809', name: '日本のお客様', state: 'active', usd: '836.47588040178572' },
  { id: 'acct_01a0ea3e57ff', name: 'Zo\u0065\u0308 Café', state: 'closed', usd: '-0.00000123456' },
];
const COLUMNS = {
  id: 'id',
  name: ({ name, id }: (typeof ROWS)[number]) => ({ text: `${name} (${id})`, short: name }),
  state: 'state',
  '>balance (USD)': 'usd',
} as const;
const LEAVE = ['state', 'name'];

const terminal = (width: number, hasColours = false): Screen => ({
  isTerminal: true,
  width,
  hasColours,
});
const printed = (screen: Screen) => table(ROWS, COLUMNS, { screen, leave: LEAVE });

/** The columns that a terminal needs: two for each wide character, none for a combining one. */
function columnsOf(line: string): number {
  const wide = line.match(/[\u3040-\u30ff\u4e00-\u9fff]/g)?.length ?? 0;
  const combining = line.match(/\p{Mn}/gu)?.length ?? 0;
  return [...line].length + wide - combining;
}

describe('a table', () => {
  it('is whole where it fits, with names beside their ids', () => {
    const lines = printed(terminal(120)).split('\n');
    expect(lines[0]).toMatch(/^id +name +state +balance \(USD\)$/);
    expect(lines[2]).toContain('日本のお客様 (acct_01a0ea3e5809)');
    expect(lines).toHaveLength(4);
  });

  it('loses the ids beside names first', () => {
    const lines = printed(terminal(60)).split('\n');
    expect(lines[0]).toMatch(/^id +name +state +balance \(USD\)$/);
    expect(lines[2]).toMatch(/^acct_01a0ea3e5809 {2}日本のお客様 {2}active +836\.4759$/);
  });

  it('then leaves columns out in the order that the list states, and names them', () => {
    const lines = printed(terminal(48)).split('\n');
    expect(lines[0]).toMatch(/^id +name +balance \(USD\)$/);
    expect(lines.at(-1)).toBe('Left out: state (see --wide)');
    const narrow = printed(terminal(40)).split('\n');
    expect(narrow[0]).toMatch(/^id +balance \(USD\)$/);
    expect(narrow.at(-1)).toBe('Left out: state, name (see --wide)');
  });

  it('is printed row by row where nothing may be left out any more', () => {
    const blocks = printed(terminal(20)).split('\n\n');
    expect(blocks).toHaveLength(2);
    expect(blocks[0]!.split('\n')).toEqual([
      'id             acct_01a0ea3e5809',
      'name           日本のお客様 (acct_01a0ea3e5809)',
      'state          active',
      'balance (USD)  836.4759',
    ]);
  });

  it.each([40, 48, 60, 80, 120])('is never wider than a terminal of %i columns', (width) => {
    for (const line of printed(terminal(width)).split('\n')) {
      expect(columnsOf(line)).toBeLessThanOrEqual(width);
    }
  });

  it('aligns wide and combining characters', () => {
    const [, rule = '', ...rows] = printed(terminal(60)).split('\n');
    expect(rows.map(columnsOf)).toEqual([columnsOf(rule), columnsOf(rule)]);
  });

  it('has all digits and borders in a pipe, and with --wide', () => {
    for (const screen of [PLAIN, { ...PLAIN, isTerminal: true }]) {
      const text = printed(screen);
      expect(text).toMatch(/^│ acct_01a0ea3e5809 │ .* │ +836\.47588040178572 │$/m);
      expect(text).toMatch(/│ +-0\.00000123456 │/);
    }
  });

  it('has colours only if the screen has: bold headings, red debts', () => {
    const escape = '\u001b';
    expect(printed(terminal(120))).not.toContain(escape);
    const coloured = printed(terminal(120, true));
    expect(coloured).toContain(`${escape}[1mid${escape}[22m`);
    expect(coloured).toContain(`${escape}[31m-0.0000012${escape}[39m`);
    const plain = stripVTControlCharacters(coloured);
    expect(plain.replaceAll(/ +$/gm, '')).toBe(printed(terminal(120)));
  });

  it('gets its order of leaving out from the declaration of the list', () => {
    const seenBy = membersFrom<{ readonly name: string; readonly usd: string }>();
    const members = {
      name: seenBy.everyone(text, ({ name }) => name, 'name'),
      spent_usd: seenBy.everyone(usd, (row) => row.usd, 'spent'),
    };
    const { columns, leave } = cellsOf(members, ['name', 'spent_usd'], ['spent_usd']);
    expect(Object.keys(columns)).toEqual(['name', '>spent (USD)']);
    expect(leave).toEqual(['spent (USD)']);
  });
});

describe('the screen', () => {
  const screenWith = (env: Readonly<Record<string, string>>, columns?: number, wide?: boolean) => {
    const { stdout } = process;
    const before = { env: process.env, isTTY: stdout.isTTY, columns: stdout.columns };
    const hasColors = () => true;
    process.env = { ...env };
    Object.assign(stdout, { isTTY: columns !== undefined, columns, hasColors });
    try {
      return screenOf({ wide });
    } finally {
      process.env = before.env;
      Object.assign(stdout, { isTTY: before.isTTY, columns: before.columns });
    }
  };

  it.each([
    ['a terminal', {}, 80, true, 80],
    ['a terminal with NO_COLOR', { NO_COLOR: '1' }, 80, false, 80],
    ['a pipe', {}, undefined, false, undefined],
    ['a pipe with FORCE_COLOR', { FORCE_COLOR: '1' }, undefined, true, undefined],
    ['a pipe with both', { NO_COLOR: '1', FORCE_COLOR: '1' }, undefined, false, undefined],
    ['a terminal that says it is 0 columns wide', {}, 0, true, undefined],
  ] as const)('of %s has colours and a width as it should', (_, env, columns, colours, width) => {
    expect(screenWith(env, columns)).toEqual({
      isTerminal: columns !== undefined,
      width,
      hasColours: colours,
    });
  });

  it('has no width with --wide', () => {
    expect(screenWith({}, 80, true)).toMatchObject({ isTerminal: true, width: undefined });
  });
});

describe('a short text', () => {
  it.each([
    ['836.47588040178572', '836.4759'],
    ['12.5', '12.50'],
    ['7', '7.00'],
    ['0', '0.00'],
    ['-0.00001234', '-0.000012'],
    ['0.00000000000001', '0.00000000000001'],
    ['999.99999', '1000.00'],
    ['not recorded', 'not recorded'],
  ])('of the amount %s is %s', (exact, short) => {
    expect(shortUsd(exact)).toBe(short);
  });

  it('of a time has no milliseconds, but its zone', () => {
    expect(shortTime('at 2026-11-30T12:00:05.123Z\nx')).toBe('at 2026-11-30 12:00:05Z\nx');
    expect(shortTime('2026-11-30')).toBe('2026-11-30');
  });
});

describe('a picture', () => {
  it('has bars in eighths of a character, and at least the thinnest for what is not zero', () => {
    expect([0n, 1n, 500n, 1_000n].map((value) => bar(value, 1_000n, 4))).toEqual([
      '',
      '▏',
      '██',
      '████',
    ]);
    expect(bar(0n, 0n, 4)).toBe('');
  });

  it('has a line of one character for each day, with dots for nothing', () => {
    expect(sparkline([0n, 1n, 50n, 100n])).toBe('·▁▄█');
    expect(sparkline([0n, 0n])).toBe('··');
  });
});
