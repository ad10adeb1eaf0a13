/** What people see of the variables: the example file, the values in force, names that are none. */

import { BY_NAME, RETIRED } from './variables.js';
import type { Environment } from './variables.js';

const INTRODUCTION =
  "Every variable of Farthing's configuration, with its default. All are optional, and most " +
  'gateways set only some of the first twelve. An empty value counts as absent. Copy this file to ' +
  '.env: `npm start` and `npm run farthing` read it there. A variable of the environment takes ' +
  'precedence over the file.';
const COLUMNS = 100;

/** @returns a file with all variables, which sets each to its default */
export function exampleFile(): string {
  const lines = [...commentOf(INTRODUCTION)];
  for (const [name, { section, about, default: text = '', group }] of BY_NAME) {
    if (section !== undefined) lines.push('', `# --- ${section} ---`, '');
    else if (group === true) lines.push('');
    if (about !== undefined) lines.push(...commentOf(about));
    lines.push(`${name}=${text}`);
  }
  return `${lines.join('\n')}\n`;
}

function commentOf(text: string): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && `${last} ${word}`.length <= COLUMNS) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else {
      lines.push(`# ${word}`);
    }
  }
  return lines;
}

/**
 * @param env - the variables of the process
 * @param all - those with the variables of `ENV_FILE`
 * @returns a line for each variable that is set, with where it is set; secrets are masked
 */
export function givenValues(env: Environment, all: Environment): readonly string[] {
  return [...BY_NAME].flatMap(([name, { isSecret }]) => {
    const text = all[name];
    if (text === undefined) return [];
    const origin = originOf(name, env) === 'file' ? 'ENV_FILE' : 'environment';
    return [`${name}=${isSecret === true ? '(secret)' : withoutPassword(text)}  (${origin})`];
  });
}

export interface VariableView {
  readonly name: string;
  /** What it does. Variables that follow one another may share a text. */
  readonly about: string;
  /** Its text in force; `null` if it has none or is a secret. */
  readonly value: string | null;
  readonly is_set: boolean;
  readonly is_secret: boolean;
  /** Whether it may be JSON. */
  readonly is_json: boolean;
  readonly default: string | null;
  /**
   * Where it is set: by an operator in the gateway, in the environment, in the file that ENV_FILE
   * names, or nowhere, so that its default applies.
   */
  readonly set_in: 'gateway' | 'environment' | 'file' | 'default';
  /** How it can change: by an operator in the gateway, by a reload, or only by a restart. */
  readonly changes_by: 'gateway' | 'reload' | 'restart';
}

export interface VariableSources {
  /** The variables of the process. */
  readonly env: Environment;
  /** Those with the variables of the file, at the start and at the last reload. */
  readonly started: Environment;
  readonly loaded: Environment;
  /** Those that operators changed. */
  readonly changed: Environment;
  /** Whether a change of this variable needs a restart. */
  readonly needsStart: (name: string) => boolean;
}

/** @returns every variable; a secret without its value */
export function describeVariables(sources: VariableSources): readonly VariableView[] {
  const { env, started, loaded, changed, needsStart } = sources;
  let shared = '';
  return [...BY_NAME].map(([name, variable]) => {
    shared = variable.about ?? shared;
    const isForStart = needsStart(name);
    const text = changed[name] ?? (isForStart ? started : loaded)[name];
    const isSecret = variable.isSecret === true;
    const shown = text ?? variable.default ?? '';
    return {
      name,
      about: shared,
      value: isSecret || shown === '' ? null : withoutPassword(shown),
      is_set: text !== undefined,
      is_secret: isSecret,
      is_json: variable.isFile === true,
      default: variable.default ?? null,
      set_in: name in changed ? 'gateway' : text === undefined ? 'default' : originOf(name, env),
      changes_by:
        variable.isChangeable === true ? 'gateway' : isForStart ? 'restart' : ('reload' as const),
    };
  });
}

function originOf(name: string, env: Environment): 'environment' | 'file' {
  // Those of proxies are often written in lower case.
  const isInProcess = [name, name.toLowerCase()].some((form) => (env[form] ?? '').trim() !== '');
  return isInProcess ? 'environment' : 'file';
}

/** An address may have the password of a proxy in front of it. */
function withoutPassword(text: string): string {
  return text.replace(/(\/\/)[^/@\s]+@/g, '$1…@');
}

/**
 * Names that were meant for the gateway and are none of its variables: retired ones, and those that
 * begin like one, such as `KEY_CONCURENCY`. Other programs have variables that begin alike, so such
 * a name is reported only if it is close to one of ours.
 *
 * @returns a sentence for each, which does not contain its value
 */
export function unknownVariables(env: Environment): readonly string[] {
  return Object.keys(env).flatMap((name) => {
    if (BY_NAME.has(name)) return [];
    const inItsPlace = RETIRED.get(name);
    if (inItsPlace !== undefined) {
      return [`${name}: is no longer a variable of the gateway; ${inItsPlace}`];
    }
    const nearest = nearestTo(name);
    return nearest === undefined
      ? []
      : [`${name}: is not a variable of the gateway; ${nearest} is`];
  });
}

function nearestTo(name: string): string | undefined {
  const words = name.split('_');
  const beginsAlike = (known: string) => known.startsWith(`${words[0] ?? ''}_`);
  const byEdits = [...BY_NAME.keys()]
    // Each start looks at the whole environment, and to count edits takes long.
    .filter((known) => beginsAlike(known) || Math.abs(known.length - name.length) <= 2)
    .map((known) => ({ known, edits: distance(name, known) }))
    .filter(({ known, edits }) => edits <= 2 || beginsAlike(known))
    .sort((a, b) => a.edits - b.edits);
  const lacksOnlyWords = byEdits.find(({ known }) => {
    const others = known.split('_');
    return words.length > 1 && words.every((word) => others.includes(word));
  });
  const [nearest] = byEdits.filter(({ edits }) => edits <= name.length / 4);
  return (lacksOnlyWords ?? nearest)?.known;
}

/** The number of characters to insert, remove or replace. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (const [line, character] of [...one].entries()) {
    const next = [line + 1];
    for (const [column, against] of [...other].entries()) {
      const replaced = (row[column] ?? 0) + (character === against ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
