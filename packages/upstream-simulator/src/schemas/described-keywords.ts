/**
 * Reads the schema keywords that SDKs move into descriptions.
 *
 * SDKs do this with keywords that the API refuses, and with some that it accepts. The model reads
 * them in the description, and the SDK checks the reply against the original schema. Anthropic's
 * SDKs write `{minimum: 1, enum: ["a"]}`, the Vercel AI SDK writes `minimum: 1; max items: 3.`
 */

import { asObject } from '../message/message.js';
import type { JsonObject } from '../message/message.js';
import { samplePattern } from './pattern-sample.js';

const KEYWORDS = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'enum',
  'const',
  'pattern',
]);

/** Adds the keywords in a schema's description to the schema. */
export function withDescribedKeywords(schema: JsonObject): JsonObject {
  const { description } = schema;
  if (typeof description !== 'string') return schema;
  const [, block] = /(?:^|\n\n)(\{[^]*\})$/.exec(description) ?? [];
  const described = block === undefined ? boundsIn(description) : Object.entries(parsed(block));
  const usable = described.filter(([name, value]) => KEYWORDS.has(name) && hasSample(name, value));
  return { ...Object.fromEntries(usable), ...schema };
}

/** Parses JSON whose member names have no quotes. */
function parsed(block: string): JsonObject {
  const json = block.replace(/"(?:[^"\\]|\\.)*"|(\$?\w+): /g, (found: string, name?: string) =>
    name === undefined ? found : `"${name}": `,
  );
  try {
    return asObject(JSON.parse(json));
  } catch {
    return {};
  }
}

function boundsIn(description: string): [name: string, bound: number][] {
  const found = description.matchAll(
    /((?:exclusive |multiple |min |max )?\w+): (-?\d+(?:\.\d+)?)/g,
  );
  return [...found].map(([, name = '', bound]) => [
    name.replace(/ (\w)/, (_, letter: string) => letter.toUpperCase()),
    Number(bound),
  ]);
}

function hasSample(name: string, value: unknown): boolean {
  return name !== 'pattern' || samplePattern(String(value)) !== undefined;
}
