/**
 * The circuits of an account, one for each model and operation. One opens if another account serves
 * what failed here, or if requests of two customers failed and none was served in between.
 */

import { createRefusalWitness } from '../refusal-witness.js';
import type { RefusalWitness } from '../refusal-witness.js';
import type { UpstreamCall } from '../upstream.js';
import { createCircuit } from './circuit.js';
import type { Circuit } from './circuit.js';

type ModelRequest = Pick<UpstreamCall, 'accountId' | 'operation' | 'model'>;

export interface ModelCircuits {
  isOpen(request: ModelRequest): boolean;
  isAnyOpen(): boolean;
  sent(request: ModelRequest): void;
  /** The request failed because of the model. */
  refused(request: ModelRequest): void;
  /** Another account has served a request that failed because of the model. */
  servedElsewhere(request: ModelRequest): void;
  /** The answer to the request shows nothing about the model. */
  unclear(request: ModelRequest): void;
  served(request: ModelRequest, sentAt: number): void;
}

const OPEN_MS = 5_000;
/** If more models fail, the oldest are forgotten. */
const MOST_MODELS = 64;

/** @param now - Milliseconds from any origin. */
export function createModelCircuits(now: () => number): ModelCircuits {
  /** Of models that have failed. */
  const models = new Map<string, { readonly circuit: Circuit; readonly witness: RefusalWitness }>();

  function find(request: ModelRequest) {
    return models.size === 0 ? undefined : models.get(kindOf(request));
  }

  function findOrAdd(request: ModelRequest) {
    const found = find(request);
    if (found !== undefined) return found;
    const added = { circuit: createCircuit(now), witness: createRefusalWitness(now) };
    models.set(kindOf(request), added);
    const [oldest] = models.keys();
    if (oldest !== undefined && models.size > MOST_MODELS) models.delete(oldest);
    return added;
  }

  return {
    isOpen: (request) => find(request)?.circuit.isOpen() === true,
    isAnyOpen: () => [...models.values()].some(({ circuit }) => circuit.isOpen()),
    sent(request) {
      find(request)?.circuit.sent();
    },
    refused(request) {
      const { witness, circuit } = findOrAdd(request);
      circuit.failed();
      if (witness.refused(request.accountId)) circuit.open(OPEN_MS);
    },
    servedElsewhere(request) {
      findOrAdd(request).circuit.open(OPEN_MS);
    },
    unclear(request) {
      find(request)?.circuit.failed();
    },
    served(request, sentAt) {
      const model = find(request);
      model?.witness.answered(sentAt);
      model?.circuit.answered(sentAt);
    },
  };
}

function kindOf({ operation, model }: ModelRequest): string {
  return `${operation} ${model}`;
}
