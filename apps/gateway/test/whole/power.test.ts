/** A short run of power cuts and kills of the embedded ledger. */

import { spawnSync } from 'node:child_process';
import { expect, it } from '@jest/globals';
import { runTorture } from '../support/torture.js';

const hasCompiler = spawnSync('cc', ['--version']).status === 0;

// The recorder of disk writes is a library in C, which the test compiles.
// F26
// F86: power cut at any moment: every acknowledged charge is in the ledger once; sound, gap 0. With
// `synchronous = NORMAL` the same run loses charges, so the test can fail.
(hasCompiler ? it : it.skip)(
  'loses no acknowledged charge when the power is cut or the process is killed (needs a C compiler)',
  () => {
    const { output, status } = runTorture('power');
    process.stdout.write(output.slice(output.indexOf('\n\n')));
    expect(output).toMatch(/\n\nseed 1: 3 passed, 0 failed\n$/);
    expect(status).toBe(0);
  },
);
