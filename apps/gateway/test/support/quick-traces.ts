/**
 * Sends ended spans at once: the gateway lets them wait for a second, so that they form batches.
 * Import this before everything that loads the gateway.
 */

import { jest } from '@jest/globals';
import type { BatchSpanProcessor as Processor } from '@opentelemetry/sdk-trace';

type Traces = { readonly BatchSpanProcessor: typeof Processor };

jest.mock('@opentelemetry/sdk-trace', () => {
  const actual = jest.requireActual<Traces>('@opentelemetry/sdk-trace');
  class BatchSpanProcessor extends actual.BatchSpanProcessor {
    constructor(options: ConstructorParameters<typeof Processor>[0]) {
      super({ ...options, scheduledDelayMillis: 1 });
    }
  }
  return { ...actual, BatchSpanProcessor };
});
