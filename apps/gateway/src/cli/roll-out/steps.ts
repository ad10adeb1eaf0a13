/**
 * What `members import` and `apply` would do: steps that are first shown, and then run. Each step
 * changes one thing by an operation, so the trail, checks and bounds are those of all changes.
 */

import type { CallOperation } from '../../operator/operations/operations.js';
import { showProgress } from '../progress.js';

export interface Difference {
  readonly field: string;
  /** `null`: none. */
  readonly before: unknown;
  readonly after: unknown;
}

/** A stage begins when all steps of the one before have ended, because it may need their ids. */
export const STAGES = {
  settings: 0,
  accounts: 1,
  /** Groups that are deeper come later: one stage for each level. */
  groups: 10,
  members: 30,
  keys: 40,
  budgets: 50,
  ends: 60,
} as const;

export interface Step {
  readonly stage: number;
  readonly does: 'create' | 'change' | 'end';
  readonly what: string;
  readonly differences: readonly Difference[];
  /** The ledger makes many of its kind in one transaction, if they come at once. */
  readonly isShared?: boolean;
  readonly run: (call: CallOperation) => Promise<void>;
}

/** The kinds of things that a file declares. */
type Kind = 'settings' | 'accounts' | 'groups' | 'members' | 'keys' | 'budgets';

export interface Plan {
  readonly steps: readonly Step[];
  /** How many of each kind are as declared. */
  readonly left: Readonly<Partial<Record<Kind, number>>>;
  /** Why the file cannot be used. Nothing is then changed. */
  readonly problems: readonly string[];
}

export interface PlanBuilder {
  add(step: Step): void;
  leave(kind: Kind): void;
  refuse(problem: string): void;
  /** The steps in the order in which they run. */
  finish(): Plan;
}

export function createPlan(): PlanBuilder {
  const steps: Step[] = [];
  const left: Partial<Record<Kind, number>> = {};
  const problems: string[] = [];
  return {
    add(step) {
      steps.push(step);
    },
    leave(kind) {
      left[kind] = (left[kind] ?? 0) + 1;
    },
    refuse(problem) {
      problems.push(problem);
    },
    finish: () => ({ steps: steps.toSorted((a, b) => a.stage - b.stage), left, problems }),
  };
}

/** A gateway answers so many at once without making its other callers wait. */
export const STEPS_AT_ONCE = 8;
/** Of those that share transactions. */
const SHARED_AT_ONCE = 128;

/** What is said when it stops half way. */
export const GO_ON = 'run the same command again to make the rest';

/**
 * Runs all steps, or stops at the first one that fails, after those that had begun.
 *
 * @throws {OperationError} of that step
 */
export async function runSteps(
  steps: readonly Step[],
  call: CallOperation,
  atOnce: number = STEPS_AT_ONCE,
): Promise<void> {
  let done = 0;
  let failed: { readonly error: unknown } | undefined;
  async function work(queue: Step[]): Promise<void> {
    while (failed === undefined) {
      const step = queue.shift();
      if (step === undefined) return;
      try {
        await step.run(call);
        done += 1;
        showProgress(`${String(done)} of ${String(steps.length)}`, done === steps.length);
      } catch (error) {
        failed = { error };
      }
    }
  }
  const workers = (count: number, queue: Step[]) =>
    Array.from({ length: Math.min(count, queue.length) }, () => work(queue));
  for (const stage of new Set(steps.map((step) => step.stage))) {
    const queueOf = (shared: boolean) =>
      steps.filter((step) => step.stage === stage && (step.isShared ?? false) === shared);
    await Promise.all([
      ...workers(SHARED_AT_ONCE, queueOf(true)),
      ...workers(atOnce, queueOf(false)),
    ]);
    if (failed !== undefined) break;
  }
  if (failed === undefined) return;
  const made = `${String(done)} of ${String(steps.length)} changes were made`;
  process.stderr.write(`${made}; ${GO_ON}\n`);
  throw failed.error;
}

/** The differences between what is and what is declared. `undefined` is not declared. */
export function differencesOf(
  declared: Readonly<Record<string, unknown>>,
  current: Readonly<Record<string, unknown>>,
): readonly Difference[] {
  return Object.entries(declared).flatMap(([field, after]) => {
    const before = current[field] ?? null;
    if (after === undefined || isSame(before, after)) return [];
    return [{ field, before, after }];
  });
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** What was or would be done, for scripts. */
export function planView({ steps, left }: Plan, isDryRun: boolean) {
  return {
    object: 'roll_out' as const,
    dry_run: isDryRun,
    changes: steps.map(({ does, what, differences }) => ({ does, what, differences })),
    left,
  };
}

export function printPlan({ dry_run, changes, left }: ReturnType<typeof planView>): string {
  const lines = changes.map(({ does, what, differences }) => {
    const details = differences.map(({ field, before, after }) =>
      does === 'create'
        ? `${field} ${shown(after)}`
        : `${field} ${shown(before)} → ${shown(after)}`,
    );
    return `${does.padEnd(6)} ${what}${details.length === 0 ? '' : `: ${details.join('; ')}`}`;
  });
  const kept = Object.entries(left).map(([kind, count]) => `${String(count)} ${kind}`);
  const end = changes.length === 0 ? 'Nothing to change.' : summary(changes.length, dry_run);
  return [...lines, ...(kept.length === 0 ? [] : [`left   ${kept.join(', ')}`]), end].join('\n');
}

function summary(count: number, isDryRun: boolean): string {
  const changes = `${String(count)} ${count === 1 ? 'change' : 'changes'}`;
  return isDryRun ? `${changes}. Nothing was changed: this was a dry run.` : `${changes} made.`;
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
