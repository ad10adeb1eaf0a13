/**
 * Decides which requests are recorded. A client chooses its trace id and its sampled flag, so
 * neither may make the gateway record more than the operator's ratio (docs/decisions/0034).
 */

import { TraceFlags, trace } from '@opentelemetry/api';
import { SamplingDecision, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace';
import type { Sampler, SamplingResult } from '@opentelemetry/sdk-trace';
import type { Sampling } from '../../config/tracing-config.js';

/** @param random - A number from 0 to below 1, such as `Math.random`. */
export function createSampler({ ratio, followsParent }: Sampling, random: () => number): Sampler {
  const byOwnTraceId = new TraceIdRatioBasedSampler(ratio);
  return {
    shouldSample(context, traceId) {
      const parent = trace.getSpanContext(context);
      if (parent === undefined) return byOwnTraceId.shouldSample(context, traceId);
      const isSampled = (parent.traceFlags & TraceFlags.SAMPLED) !== 0;
      if (parent.isRemote !== true) return decide(isSampled);
      if (followsParent && !isSampled) return decide(false);
      // Does not decide by the trace id, because a client could choose one that every ratio admits.
      return decide(random() < ratio);
    },
    toString: () => `Bounded{${String(ratio)}}`,
  };
}

function decide(isSampled: boolean): SamplingResult {
  return {
    decision: isSampled ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD,
  };
}
