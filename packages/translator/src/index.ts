export type { Note, RequestProblem } from './note.js';
export type { EffortLevel, ModelTraits } from './traits.js';
export {
  translateRequest,
  type RequestTranslation,
  type TranslateRequestOptions,
} from './request.js';
export { REQUEST_FIELDS, type RequestField } from './request-fields.js';
export type { ResponseContext } from './response-context.js';
export {
  normalizeToolChoice,
  type NativeToolChoice,
  type ToolChoiceNormalization,
} from './tool-choice.js';
export { scanTopLevel } from './json-members.js';
export type { JsonScan, JsonShape, JsonSpan, ScanOptions } from './json-members.js';
