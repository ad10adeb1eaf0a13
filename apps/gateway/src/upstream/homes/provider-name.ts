/**
 * Who serves the models of a home, by the names of OpenTelemetry's conventions.
 *
 * https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/#gen-ai-provider-name
 */

import type { AnthropicTarget } from '../../config/upstream-target.js';

const HOSTS: readonly (readonly [host: RegExp, name: string])[] = [
  [/^bedrock[\w-]*\.[\w.-]+\.(?:amazonaws\.com(?:\.cn)?|api\.aws)$/, 'aws.bedrock'],
  [/\.(?:services\.ai\.azure|openai\.azure|cognitiveservices\.azure)\.com$/, 'azure.ai.inference'],
  [/aiplatform(?:\.[\w.-]+)?\.googleapis\.com$/, 'gcp.vertex_ai'],
];

/** Of a home that serves Anthropic's own API. */
export function providerNameOf({ url, credential }: AnthropicTarget): string {
  // Anthropic runs its platform on AWS itself.
  if (credential?.kind === 'aws' && credential.service !== 'aws-external-anthropic') {
    return 'aws.bedrock';
  }
  if (credential?.kind === 'entra') return 'azure.ai.inference';
  const { hostname } = new URL(url);
  return HOSTS.find(([host]) => host.test(hostname))?.[1] ?? 'anthropic';
}
