/** `docs/api.md`, with `docs/payments.md` for payments, names exactly the declared endpoints. */

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ENDPOINTS } from '../../src/openapi/endpoints.js';

const DOCS = resolve(__dirname, '../../../../docs');
const API = readFileSync(join(DOCS, 'api.md'), 'utf8');
const [FOR_ALL = '', FOR_KEYS = '', FOR_OPERATORS = ''] = API.split(/^## For .*$/m);
const PAYMENTS = readFileSync(join(DOCS, 'payments.md'), 'utf8');

/** With a `*`, everything below the path is meant, too. */
interface Named {
  readonly path: string;
  readonly isWithBelow: boolean;
}

function namedIn(text: string): readonly Named[] {
  const code = [...text.replace(/^ *```.*?^ *```/gms, '').matchAll(/`([^`]+)`/g)].map(
    ([, inner]) => inner!,
  );
  return code.flatMap((inner) => {
    const [, path] =
      /^(?:[A-Z]+\s+|https:\/\/<gateway>)?(\/[\w./{}*-]*)(?:\?\S*)?$/.exec(inner) ?? [];
    if (path === undefined || path.startsWith('/dashboard/')) return [];
    return [{ path: withoutNames(path.replace('/*', '')), isWithBelow: path.endsWith('/*') }];
  });
}

/** Documents write `/v1/models/{id}` for `/v1/models/:id`. */
function withoutNames(path: string): string {
  return path.replace(/:\w+|\{\w+\}/g, '{}');
}

/** In a list, a path may be written without the beginning that it shares with the one before. */
function means({ path, isWithBelow }: Named, declared: string): boolean {
  if (isWithBelow && declared.startsWith(`${path}/`)) return true;
  return path === '/' ? declared === path : declared.endsWith(path);
}

describe.each([
  { port: 'client', text: FOR_ALL + FOR_KEYS },
  { port: 'admin', text: FOR_ALL + FOR_OPERATORS },
] as const)('the endpoints of the $port port', ({ port, text }) => {
  const declared = [...new Set(ENDPOINTS[port].map(({ path }) => withoutNames(path)))];
  const named = namedIn(text);

  it('are all named', () => {
    const all = [...named, ...namedIn(PAYMENTS)];
    expect(declared.length).toBeGreaterThan(20);
    expect(declared.filter((path) => !all.some((name) => means(name, path)))).toEqual([]);
  });

  it('are the only ones that are named', () => {
    const unknown = named.filter((name) => !declared.some((path) => means(name, path)));
    expect(unknown).toEqual([]);
  });
});

it('the endpoints of payments exist', () => {
  const declared = Object.values(ENDPOINTS)
    .flat()
    .map(({ path }) => withoutNames(path));
  const unknown = namedIn(PAYMENTS).filter((name) => !declared.some((path) => means(name, path)));
  expect(unknown).toEqual([]);
});
