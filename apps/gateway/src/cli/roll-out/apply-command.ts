/** `farthing apply`: makes the ledger what a file declares. */

import type { Command } from 'commander';
import { EXIT } from '../../base/errors/failures.js';
import { run, withJson } from '../output.js';
import type { OutputOptions } from '../output.js';
import { readDeclared } from './declared-file.js';
import { readText, unusable } from './import-command.js';
import { planDeclared } from './plan-declared.js';
import { planView, printPlan, runSteps } from './steps.js';

interface ApplyOptions extends OutputOptions {
  readonly dryRun?: true;
}

const DESCRIPTION = `make accounts, groups, members, keys, budgets and prices what a JSON file declares

Accounts, members and keys are known by their external_id, groups by their path, budgets by their
name. What the file does not declare stays as it is, and nothing ends unless it has "state":
"ended". Keys are changed, not made. If the file is wrong, nothing is changed, and the exit code is
2. A second run changes nothing, and one after an interruption makes the rest.`;

export function addApply(program: Command): void {
  withJson(
    program.command('apply').argument('<file>', 'such as university.json').description(DESCRIPTION),
  )
    .option('--dry-run', 'only print what would change; exits with 1 if anything would')
    .action((file: string, options: ApplyOptions) =>
      run(
        options,
        async (call) => {
          const read = readDeclared(readText(file));
          if ('problems' in read) throw unusable(file, read.problems);
          const plan = await planDeclared(read.declared, call);
          if (plan.problems.length > 0) throw unusable(file, plan.problems);
          const isDryRun = options.dryRun === true;
          if (!isDryRun) await runSteps(plan.steps, call);
          else if (plan.steps.length > 0) process.exitCode = EXIT.refused;
          return planView(plan, isDryRun);
        },
        printPlan,
      ),
    );
}
