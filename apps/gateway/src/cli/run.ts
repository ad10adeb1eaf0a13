/** Runs the command that the arguments name, and turns a failure into a text and an exit code. */

import { CommanderError } from 'commander';
import type { Command } from 'commander';
import { keepYoungGenerationOfThreads } from '../base/heap-tuning.js';
import { EXIT } from '../base/errors/failures.js';
import { exitCodeOf } from '../process/exit-codes.js';
import { createProgram } from './program.js';
import { reportFailure } from './report-failure.js';

/** @param args - without the program's name */
export async function runCommandLine(
  args: readonly string[] = process.argv.slice(2),
): Promise<void> {
  let running: Command | undefined;
  const program = createProgram().hook('preAction', (_program, command) => {
    running = command;
    // Not from the configuration: a command must say what is wrong with that, not fail before.
    const isTuned = process.env['TUNING'] !== 'none';
    if (isTuned && command.name() !== 'serve') keepYoungGenerationOfThreads();
  });
  try {
    // Not commander's default command, to which a misspelt command would be an argument.
    await program.parseAsync(args.length === 0 ? ['serve'] : args, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    } else {
      reportFailure(error, running);
      process.exitCode = exitCodeOf(error);
    }
  }
}
