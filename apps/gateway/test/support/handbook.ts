/** The procedures of the handbook, as its readers type them: the fenced blocks of its headings. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(__dirname, '../../../..');

export interface Block {
  /** The nearest heading above. */
  readonly heading: string;
  /** Commands of a shell, variables of the file that `ENV_FILE` names, or a language. */
  readonly kind: 'commands' | 'variables' | 'sql' | 'json' | 'csv';
  readonly code: string;
}

/** A block that no test takes is a procedure that nobody has run. */
export interface Handbook {
  readonly blocks: readonly Block[];
  /** The blocks of a heading, which then count as run. */
  take(heading: string): readonly Block[];
  untaken(): readonly Block[];
}

/** @param page - Another page than the handbook. */
export function readHandbook(page = 'docs/operating.md'): Handbook {
  const blocks = blocksOf(readFileSync(join(ROOT, page), 'utf8'));
  const taken = new Set<Block>();
  return {
    blocks,
    take(heading) {
      const found = blocks.filter((block) => block.heading === heading);
      if (found.length === 0) throw new Error(`the handbook has no blocks under ${heading}`);
      for (const block of found) taken.add(block);
      return found;
    },
    untaken: () => blocks.filter((block) => !taken.has(block)),
  };
}

function blocksOf(text: string): readonly Block[] {
  let heading = '';
  return [...text.matchAll(/^#+ (.*)$|^( *)```(\w*)\n([^]*?)^ *```$/gm)].flatMap(
    ([, title, indent = '', language = '', code = '']): readonly Block[] => {
      if (title !== undefined) {
        heading = title;
        return [];
      }
      const lines = code.trimEnd().split('\n');
      const own = lines.map((line) => line.slice(indent.length)).join('\n');
      return [{ heading, kind: kindOf(language, own), code: own }];
    },
  );
}

function kindOf(language: string, code: string): Block['kind'] {
  if (language === 'sql' || language === 'json' || language === 'csv') return language;
  if (language !== '') throw new Error(`the handbook has a block of ${language}`);
  return /^(?:[A-Z_]+=.*\n?)+$/.test(code) ? 'variables' : 'commands';
}
