/**
 * What a model can do through this gateway, as the provider's endpoint reports it (SDK:
 * `ModelCapabilities`). Batches are not offered here, and server tools only if the operator allows
 * them.
 */

import type { ModelTraits } from '@gateway/billing';
import type { PriceBook } from '../exchange/price-book.js';

export function capabilitiesOf(
  { effort, sampling, structuredOutputs, thinkingOff, thinkingOn }: ModelTraits,
  { allowedFeatures: allowed, overdraft }: Pick<PriceBook, 'allowedFeatures' | 'overdraft'>,
) {
  const isAdaptive = thinkingOn !== undefined;
  const search = allowed.has('web_search');
  const code = allowed.has('code_execution');
  return {
    batch: support(false),
    citations: support(true),
    code_execution: support(code),
    context_management: {
      ...support(true),
      clear_thinking_20251015: support(true),
      clear_tool_uses_20250919: support(true),
      // Nothing bounds its cost, so no amount could be held.
      compact_20260112: support(isAdaptive && allowed.has('compaction') && overdraft !== 'none'),
    },
    effort: {
      ...support(effort.length > 0),
      low: support(effort.includes('low')),
      medium: support(effort.includes('medium')),
      high: support(effort.includes('high')),
      xhigh: support(effort.includes('xhigh')),
      max: support(effort.includes('max')),
    },
    image_input: support(true),
    pdf_input: support(true),
    server_tools: {
      ...support(search || code),
      code_execution: support(code),
      web_search: support(search),
    },
    structured_outputs: support(structuredOutputs === 'accepted'),
    thinking: {
      ...support(true),
      types: {
        adaptive: support(isAdaptive),
        between_tools: support(thinkingOff === 'between_tools'),
        disabled: support(thinkingOff === 'disabled' || thinkingOff === 'omit'),
        // Budgets of thinking tokens ended with the generation that ended sampling.
        enabled: support(sampling === 'accepted'),
      },
    },
  };
}

function support(supported: boolean): { readonly supported: boolean } {
  return { supported };
}
