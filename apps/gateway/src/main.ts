#!/usr/bin/env node
/** The command line: `gateway serve` runs the gateway, everything else is an operator's errand. */

import { CommanderError } from 'commander';
import { createProgram } from './cli/program.js';
import { EXIT, exitCodeOf, reportFailure } from './cli/exit.js';

try {
  await createProgram().parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  } else {
    reportFailure(error);
    process.exitCode = exitCodeOf(error);
  }
}
