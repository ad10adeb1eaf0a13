/** The clouds that serve Claude. `@smithy/core` and `@smithy/signature-v4` must be installed. */

export type { AwsAccess } from './aws/access.js';
export { startAwsPlatformSimulator } from './aws/aws-platform.js';
export type { AwsPlatformOptions } from './aws/aws-platform.js';
export { startBedrockSimulator } from './aws/bedrock.js';
export type { BedrockOptions } from './aws/bedrock.js';
export type { AwsCredential } from './aws/signature.js';
export type { EntraApplication, EntraIdentities } from './foundry/entra-tokens.js';
export { startFoundrySimulator } from './foundry/foundry.js';
export type { FoundryOptions, FoundrySimulator } from './foundry/foundry.js';
export type { GoogleIdentities, ServiceAccount, WorkloadProvider } from './google/google-tokens.js';
export { startVertexSimulator } from './google/vertex.js';
export type { VertexOptions, VertexSimulator } from './google/vertex.js';
export type { CloudKey, CloudOptions } from './shared/cloud-options.js';
