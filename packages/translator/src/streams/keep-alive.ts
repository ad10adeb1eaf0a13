import { encodeUtf8 } from '../wire/bytes.js';

/** What a chat client ignores, to keep a connection alive between chunks. */
export const CHAT_KEEP_ALIVE = /* @__PURE__ */ encodeUtf8(': keep-alive\n\n');
