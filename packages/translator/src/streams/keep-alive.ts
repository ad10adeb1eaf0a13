import { encodeUtf8 } from '../wire/bytes.js';

/** A comment, which chat clients ignore. It keeps a connection alive between chunks. */
export const CHAT_KEEP_ALIVE = /* @__PURE__ */ encodeUtf8(': keep-alive\n\n');
