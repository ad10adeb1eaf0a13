export { cacheConversations, cacheEveryRequest } from './cache-points.js';
export { nativeSchemas } from './native-schemas.js';
export { webSearch } from './web-search.js';
export type { AddCachePoints, CacheableRequest, CachePointHolder } from '../reading/cache-point.js';
export type {
  AnswerSchema,
  SchemaPlace,
  SchemaReader,
  StrictSchema,
} from '../reading/strict-schema-reading.js';
export type { ReadWebSearch, UserLocation, WebSearchTool } from '../reading/web-search-reading.js';
