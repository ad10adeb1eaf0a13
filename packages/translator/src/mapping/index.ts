export { REQUEST_FIELDS } from './request-fields.js';
export { RESPONSES_FIELDS } from './responses-fields.js';
export { STOP_REASONS } from './stop-reasons.js';
export type { RequestField } from '../reading/field-fate.js';
