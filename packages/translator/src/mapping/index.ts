export { REQUEST_FIELDS } from './request-fields.js';
export { STOP_REASONS } from './stop-reasons.js';
export type { RequestField } from '../reading/field-fate.js';
