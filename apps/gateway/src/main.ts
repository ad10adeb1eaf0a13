#!/usr/bin/env node
/**
 * The entry point: refuses a version of Node that the gateway does not support, then runs the
 * command line (`farthing serve` runs the gateway, the other commands are for operators).
 *
 * The command line is imported after the check, not at the top: on Node before 22.15, `node:zlib`
 * does not export `zstdDecompress`, so a static import would fail with a SyntaxError before any
 * message could be written.
 */

import { engines } from '../package.json';
import { isSupportedNode } from './base/node-version.js';

if (isSupportedNode(process.versions.node, engines.node)) {
  const { runCommandLine } = await import('./cli/run.js');
  await runCommandLine();
} else {
  process.stderr.write(`farthing: needs Node ${engines.node}, got ${process.versions.node}\n`);
  process.exitCode = 2;
}
