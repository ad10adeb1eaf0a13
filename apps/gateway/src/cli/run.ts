/** Runs the command that the arguments name, and turns a failure into a text and an exit code. */

import { CommanderError } from 'commander';
import type { Command } from 'commander';
import { EXIT, exitCodeOf } from '../exit-codes.js';
import { createProgram } from './program.js';
import { reportFailure } from './report-failure.js';

export async function runCommandLine(): Promise<void> {
  let running: Command | undefined;
  const program = createProgram().hook('preAction', (_program, command) => {
    running = command;
  });
  try {
    await program.parseAsync();
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    } else {
      reportFailure(error, running);
      process.exitCode = exitCodeOf(error);
    }
  }
}
