/** The colours of series: people of each kind of colour vision tell them apart. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { COLORS, colorOf, nextColor } from '../../src/shared/plots/colors.js';

type Triple = readonly [number, number, number];
type Matrix = readonly [Triple, Triple, Triple];

const styles = readFileSync(join(__dirname, '../../src/shared/styles.css'), 'utf8');

/** @returns the value of a property in the light and in the dark theme */
function pairOf(name: string): readonly [string, string] {
  const [, light = '', dark = ''] =
    new RegExp(`--${name}: light-dark\\((#\\w{6}), (#\\w{6})\\)`).exec(styles) ?? [];
  return [light, dark];
}

/**
 * How people without one kind of cones see linear RGB: the matrices of severity 1 of Machado,
 * Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency"
 * (2009).
 */
const VISIONS: Readonly<Record<string, Matrix>> = {
  usual: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

/** From linear sRGB to XYZ with the white of D65 (IEC 61966-2-1). */
const XYZ: Matrix = [
  [0.4124564, 0.3575761, 0.1804375],
  [0.2126729, 0.7151522, 0.072175],
  [0.0193339, 0.119192, 0.9503041],
];
const WHITE: Triple = [0.95047, 1, 1.08883];

function times(matrix: Matrix, [a, b, c]: Triple): Triple {
  const row = ([x, y, z]: Triple) => x * a + y * b + z * c;
  return [row(matrix[0]), row(matrix[1]), row(matrix[2])];
}

function linear(hex: string): Triple {
  const channel = (start: number) => {
    const part = Number.parseInt(hex.slice(start, start + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  };
  return [channel(1), channel(3), channel(5)];
}

/** CIE L*a*b* of 1976. */
function lab(color: Triple): Triple {
  const [x, y, z] = times(XYZ, color);
  const f = (part: number) =>
    part > 216 / 24_389 ? Math.cbrt(part) : ((24_389 / 27) * part + 16) / 116;
  const [fx, fy, fz] = [f(x / WHITE[0]), f(y / WHITE[1]), f(z / WHITE[2])];
  return [116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)];
}

function seen(hex: string, vision: Matrix): Triple {
  const clamp = (part: number) => Math.min(1, Math.max(0, part));
  const [r, g, b] = times(vision, linear(hex));
  return lab([clamp(r), clamp(g), clamp(b)]);
}

function distance(a: Triple, b: Triple): number {
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

function contrast(a: string, b: string): number {
  const [low = 0, high = 0] = [a, b].map((hex) => times(XYZ, linear(hex))[1]).sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

/** A difference of 2.3 is just seen side by side; bars of a plot and its legend are far apart. */
const LEAST_DISTANCE = 14;
/** What WCAG 2.2 asks of graphics (1.4.11). */
const LEAST_CONTRAST = 3;

const names = Array.from({ length: COLORS }, (_, index) => `s${String(index)}`);

describe.each([
  ['light', 0],
  ['dark', 1],
] as const)('the colours of series in the %s theme', (_, theme) => {
  const colorAt = (name: string) => pairOf(name)[theme];

  it.each(Object.keys(VISIONS))('differ from each other and from the red of errors: %s', (name) => {
    const vision = VISIONS[name]!;
    const all = [...names, 'bad'].map((each) => seen(colorAt(each), vision));
    for (const [index, color] of all.entries()) {
      for (const other of all.slice(0, index)) {
        expect(distance(color, other)).toBeGreaterThan(LEAST_DISTANCE);
      }
    }
  });

  it('stand out from the surface', () => {
    for (const name of names) {
      expect(contrast(colorAt(name), colorAt('surface'))).toBeGreaterThanOrEqual(LEAST_CONTRAST);
    }
  });
});

it('knows the published values of white and of one red', () => {
  expect(lab(linear('#ffffff')).map((part) => Math.abs(Math.round(part)))).toEqual([100, 0, 0]);
  expect(lab(linear('#ff0000')).map(Math.round)).toEqual([53, 80, 67]);
});

it('gives a name the same colour each time, and another after it until all were given', () => {
  const first = colorOf('claude-opus-5-5');
  expect(colorOf('claude-opus-5-5')).toBe(first);
  const all = [first];
  for (let count = 1; count < COLORS; count += 1) all.push(nextColor(all.at(-1)!));
  expect(new Set(all).size).toBe(COLORS);
  expect(new Set(all)).toEqual(new Set(names));
});
