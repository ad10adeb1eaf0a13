/**
 * Reads the parameters of requests to Stripe, from a body or a query: forms whose names contain
 * brackets, as in `created[gte]`.
 */

export interface Form {
  readonly [name: string]: string | Form | undefined;
}

export function parseForm(text: string): Form {
  const root: Record<string, unknown> = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const path = name.split(/\[|\]\[|\]/).filter((part) => part !== '');
    const last = path.pop() ?? '';
    let target = root;
    for (const part of path) {
      target[part] ??= {};
      target = target[part] as Record<string, unknown>;
    }
    target[last] = value;
  }
  return root as Form;
}

export function textOf(form: Form, ...path: readonly string[]): string | undefined {
  let value: string | Form | undefined = form;
  for (const part of path) {
    if (typeof value !== 'object') return undefined;
    value = value[part];
  }
  return typeof value === 'string' ? value : undefined;
}

export function pairsOf(form: Form, ...path: readonly string[]): Record<string, string> {
  let value: string | Form | undefined = form;
  for (const part of path) value = typeof value === 'object' ? value[part] : undefined;
  const pairs = typeof value === 'object' ? Object.entries(value) : [];
  return Object.fromEntries(
    pairs.flatMap(([name, text]) => (typeof text === 'string' ? [[name, text]] : [])),
  );
}
