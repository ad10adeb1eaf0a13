/**
 * The names of accounts and keys by their ids, read as far as the screen needs them: first those
 * that were used last, and then each one that is still missing.
 */

import { signal } from '@preact/signals';
import type { Answer } from '../shared/api/api.js';
import type { Field } from '../shared/controls/filter-form.js';
import { call } from './session.js';

/** An id without an account or a key, such as an erased one, has an empty name. */
const known = signal<ReadonlyMap<string, string>>(new Map());

interface Named {
  readonly id: string;
  readonly name: string;
}

/** Read in one request. */
const MOST_AT_ONCE = 1_000;
/** As many are asked for one by one at the same time. */
const TOGETHER = 4;

let waiting = new Set<string>();
let isReading = false;
let hasLists = false;

/** @returns `undefined` while the name is not known; the caller is drawn again when it is */
export function nameOf(id: string): string | undefined {
  const name = known.value.get(id);
  if (name === undefined) ask(id);
  return name === '' ? undefined : name;
}

/** A filter by an account or a key, which is written by its name. */
export function namedField<Name extends 'account_id' | 'key_id'>(
  name: Name,
  label: string,
): Field<Name> {
  if (!hasLists) ask(undefined);
  const prefix = name === 'key_id' ? 'key_' : 'acct_';
  const labels = uniqueLabels([...known.value].filter(([id]) => id.startsWith(prefix)));
  return {
    name,
    label,
    offers: [...labels.values()],
    words: {
      of: (id) => (id === '' ? '' : (labels.get(id) ?? nameOf(id) ?? id)),
      read: (text) => idOf(text, labels),
    },
  };
}

/** Two of the same name are told apart by the ends of their ids. */
function uniqueLabels(all: readonly (readonly [string, string])[]): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const [, name] of all) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(
    all
      .filter(([, name]) => name !== '')
      .map(([id, name]) => [id, counts.get(name) === 1 ? name : `${name} (…${id.slice(-6)})`]),
  );
}

/** @returns the id of the only name that has the text in it, or else the text */
function idOf(text: string, labels: ReadonlyMap<string, string>): string {
  const part = text.toLowerCase();
  const all = [...labels].map(([id, label]) => [id, label.toLowerCase()] as const);
  const equal = all.filter(([, label]) => label === part);
  const [found, other] = equal.length > 0 ? equal : all.filter(([, label]) => label.includes(part));
  return text === '' || found === undefined || other !== undefined ? text : found[0];
}

/** Takes names from what was loaded for another reason. */
export function learn(items: readonly Named[]): void {
  const isNew = items.some(({ id, name }) => known.peek().get(id) !== name);
  if (!isNew) return;
  known.value = new Map([...known.peek(), ...items.map(({ id, name }) => [id, name] as const)]);
}

function ask(id: string | undefined): void {
  if (id !== undefined) waiting.add(id);
  if (isReading) return;
  isReading = true;
  // After the drawing that asks, so that all its ids are read together.
  setTimeout(() => {
    void readAll();
  });
}

async function readAll(): Promise<void> {
  try {
    if (!hasLists) {
      const query = { order: 'last_charged', limit: MOST_AT_ONCE } as const;
      const lists = await Promise.all([
        call('GET /admin/accounts', { query }),
        call('GET /admin/keys', { query }),
      ]);
      hasLists = lists.every(isFinal);
      for (const list of lists) if (list.ok) learn(list.value.data);
    }
    while (waiting.size > 0) {
      const ids = [...waiting];
      waiting = new Set();
      const missing = ids.filter((id) => !known.peek().has(id));
      for (let start = 0; start < missing.length; start += TOGETHER) {
        const read = await Promise.all(missing.slice(start, start + TOGETHER).map(readOne));
        learn(read.flatMap((one) => one ?? []));
      }
    }
  } finally {
    isReading = false;
  }
}

/** Whether the same answer would come again. Otherwise it is asked for again at a later drawing. */
function isFinal(answer: Answer<unknown>): boolean {
  return answer.ok || answer.failure.kind === 'refused';
}

async function readOne(id: string): Promise<Named | undefined> {
  const answer = id.startsWith('key_')
    ? await call('GET /admin/keys/:key_id', { path: { key_id: id } })
    : await call('GET /admin/accounts/:account_id', { path: { account_id: id } });
  return isFinal(answer) ? { id, name: answer.ok ? answer.value.name : '' } : undefined;
}
