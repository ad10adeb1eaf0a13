/**
 * Says which package failed to build and why, from the output of `pnpm -r run build`, in which the
 * lines of packages that build at the same time are mixed.
 */

import { stripVTControlCharacters } from 'node:util';

/** @param text - Lines such as `apps/dashboard build: Error: …`, and `… build: Failed`. */
export function reasonOfBuild(text) {
  const lines = stripVTControlCharacters(text)
    .split('\n')
    .map((line) => line.trim());
  const failed = lines.find((line) => / build: Failed$/.test(line))?.split(' ')[0];
  if (failed === undefined) return `The build failed: ${reasonIn(lines)}`;
  const own = `${failed} build: `;
  const said = lines.filter((line) => line.startsWith(own)).map((line) => line.slice(own.length));
  return `The build of ${failed} failed: ${reasonIn(said)}`;
}

function reasonIn(lines) {
  return (
    lines.find((line) => /\berror\b[^a-z]*:/i.test(line) || /error TS\d+/.test(line)) ??
    lines.findLast((line) => line !== '' && line !== 'Failed') ??
    'it printed nothing'
  );
}
