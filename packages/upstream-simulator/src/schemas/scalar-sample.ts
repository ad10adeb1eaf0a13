/** Makes texts and numbers that satisfy several JSON Schemas at once. */

import { compilePattern, samplePattern } from './pattern-sample.js';
import type { JsonObject } from '../message/message.js';

const TEXT = 'Paris';
const NUMBER = 42;
const MAX_LENGTH = 10_000;

/** One text for each format that the API supports. */
const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2026-01-01T12:00:00Z',
  date: '2026-01-01',
  time: '12:00:00Z',
  duration: 'P1D',
  email: 'user@example.com',
  hostname: 'example.com',
  uri: 'https://example.com/',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uuid: '00000000-0000-4000-8000-000000000000',
};

/**
 * `fitting` satisfies the patterns and lengths of all schemas, and their format unless there is
 * also a pattern. It is `undefined` if none of the texts that are tried does.
 * `closest` is always a text, even if it does not satisfy all schemas.
 */
export function sampleTexts(schemas: readonly JsonObject[]): {
  readonly fitting: string | undefined;
  readonly closest: string;
} {
  const formats = new Set(
    valuesOf(schemas, 'format').flatMap((name) => FORMATS[String(name)] ?? []),
  );
  const patterns = valuesOf(schemas, 'pattern').filter((value) => typeof value === 'string');
  const plain = withLength(TEXT, schemas);
  const [formatted = plain] = formats;
  const texts = [formatted, ...patterns.map(samplePattern)];
  const fitting = texts.find(
    (text) =>
      text !== undefined &&
      formats.size < 2 &&
      fitsPatterns(text, schemas) &&
      withLength(text, schemas) === text,
  );
  return { fitting, closest: formatted };
}

export function fitsPatterns(text: string, schemas: readonly JsonObject[]): boolean {
  return valuesOf(schemas, 'pattern').every(
    (pattern) => typeof pattern !== 'string' || (compilePattern(pattern)?.test(text) ?? true),
  );
}

function withLength(text: string, schemas: readonly JsonObject[]): string {
  const least = Math.max(0, ...numbersOf(schemas, 'minLength'));
  const most = Math.min(MAX_LENGTH, ...numbersOf(schemas, 'maxLength'));
  return text.padEnd(Math.min(least, MAX_LENGTH), 'x').slice(0, most);
}

/** @returns `undefined` if no number was found. */
export function sampleNumber(
  schemas: readonly JsonObject[],
  type: 'integer' | 'number',
): number | undefined {
  const steps = numbersOf(schemas, 'multipleOf');
  const least = numbersOf(schemas, 'minimum');
  const most = numbersOf(schemas, 'maximum');
  const above = numbersOf(schemas, 'exclusiveMinimum');
  const below = numbersOf(schemas, 'exclusiveMaximum');
  const fits = (value: number): boolean =>
    (type === 'number' || Number.isInteger(value)) &&
    least.every((bound) => value >= bound) &&
    most.every((bound) => value <= bound) &&
    above.every((bound) => value > bound) &&
    below.every((bound) => value < bound) &&
    steps.every((step) => Number.isInteger(value / step));

  const bounds = [...least, ...most, ...above, ...below];
  const near = bounds.flatMap((bound) => [bound, Math.floor(bound) + 1, Math.ceil(bound) - 1]);
  const between = bounds.flatMap((low) => bounds.map((high) => (low + high) / 2));
  const multiples = steps.flatMap((step) =>
    [0, ...bounds].flatMap((bound) =>
      [-1, 0, 1].map((by) => (Math.round(bound / step) + by) * step),
    ),
  );
  return [NUMBER, ...near, ...multiples, ...between].find(fits);
}

function valuesOf(schemas: readonly JsonObject[], name: string): unknown[] {
  return schemas.map((schema) => schema[name]).filter((value) => value !== undefined);
}

function numbersOf(schemas: readonly JsonObject[], name: string): number[] {
  return valuesOf(schemas, name).filter((value) => typeof value === 'number');
}
