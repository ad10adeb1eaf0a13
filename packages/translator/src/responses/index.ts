export {
  translateResponsesRequest,
  translateTokenCountRequest,
  type ResponsesRequestTranslation,
  type TokenCountRequestTranslation,
  type TranslateResponsesOptions,
} from '../responses-client/request/request.js';
export type { Additions } from '../wire/additions.js';
export type { CalledAs } from '../wire/called-as.js';
export type {
  ResponseSettings,
  ResponsesContext,
  TextFormat,
} from '../responses-client/response-context.js';
export {
  translateTokenCount,
  type TokenCountTranslation,
} from '../responses-client/answer/token-count.js';
export type { StoredResponses } from '../responses-client/request/stored-state.js';
export { responseId, responseIdOfItem } from '../responses-client/answer/output-items.js';
export { translateMessage } from '../responses-client/answer/response.js';
export {
  responseUsage,
  type TranslateMessageContext,
} from '../responses-client/answer/written-response.js';
export {
  createResponseStream,
  createResponseTextStream,
  type FinishedResponse,
  type ResponseBytePipe,
  type ResponseStreamPipe,
} from '../responses-client/answer/stream.js';
