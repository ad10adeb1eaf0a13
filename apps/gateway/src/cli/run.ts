/** Runs the command that the arguments name, and turns a failure into one line and an exit code. */

import { CommanderError } from 'commander';
import { createProgram } from './program.js';
import { EXIT, exitCodeOf, reportFailure } from '../exit-codes.js';

export async function runCommandLine(): Promise<void> {
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
}
