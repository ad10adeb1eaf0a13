/**
 * Finds out what a request needs of what is kept (see `../response-memory`), before it is prepared.
 * The whole body is searched for that, so it happens in the thread that prepares the body.
 */

import type { Refusal } from '../../base/errors/refusal.js';
import { thinkingNamedIn } from '../response-memory/kept-thinking.js';
import { namesIn, responsesNamedIn } from '../response-memory/referred-responses.js';
import type { RecalledResponses, References } from '../response-memory/referred-responses.js';
import { LARGE_BYTES, createPreparer } from './prepare-request.js';
import type {
  Preparation,
  PreparationJob,
  PreparationRules,
  ThreadLimits,
} from './prepare-request.js';

/** The request is not prepared yet. Look up what it names, then call again with that. */
export interface Referral {
  readonly outcome: 'refers';
  readonly references: References;
  /** That of the job, which may have been transferred between threads. */
  readonly body: Uint8Array;
}

const NOTHING: RecalledResponses = { continued: new Map(), referred: new Map() };

/** {@link createPreparer}, for jobs with {@link PreparationJob.mayRecall} as well. */
export function createReferringPreparer(
  rules: PreparationRules,
  collectGarbage = (): void => undefined,
): (job: PreparationJob, limits: ThreadLimits) => Preparation | Referral {
  const prepare = createPreparer(rules, collectGarbage);
  return (job, limits) => {
    const { format, body } = job;
    if (job.mayRecall === true) {
      if (body.length > limits.chatBytes) return { outcome: 'too_large' };
      const references = referencesIn(format, body);
      if ('refusal' in references) return { outcome: 'refused', ...references };
      if (namesIn(references) > 0) {
        // The text that was searched. A body that is prepared now is followed by a call there.
        if (body.length > LARGE_BYTES) collectGarbage();
        return { outcome: 'refers', references, body };
      }
      // Another thread need not search again.
      job.mayRecall = false;
      if (format !== 'chat.completions') job.recalled = NOTHING;
    }
    return prepare(job, limits);
  };
}

function referencesIn(
  format: PreparationJob['format'],
  body: Uint8Array,
): References | { readonly refusal: Refusal } {
  switch (format) {
    case 'responses':
    case 'input_tokens':
      return responsesNamedIn(body);
    case 'chat.completions':
      return thinkingNamedIn(body);
    case 'messages':
    case 'count_tokens':
      return { continued: [], referred: [], needed: 0 };
  }
}
