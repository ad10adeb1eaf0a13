/** Shares kept responses between workers without Redis: the primary keeps those of all of them. */

import type { ResponseMemory } from '../../exchange/response-memory/response-memory.js';
import { reach } from './rpc.js';
import type { RpcTo } from './rpc.js';

export type ResponseCalls = ReturnType<typeof shareResponses>['calls'];

/** The primary's side. Workers do not call it if nothing is kept. */
export function shareResponses(memory: ResponseMemory | undefined) {
  function kept(): ResponseMemory {
    if (memory === undefined) throw new Error('no responses are kept');
    return memory;
  }
  return {
    calls: {
      rememberResponse: (...args: Parameters<ResponseMemory['remember']>) =>
        kept().remember(...args),
      measureResponse: (...args: Parameters<ResponseMemory['measure']>) => kept().measure(...args),
      recallWhole: (...args: Parameters<ResponseMemory['recall']>) => kept().recall(...args),
      recallResponses: (...args: Parameters<ResponseMemory['recallResponses']>) =>
        kept().recallResponses(...args),
      forgetResponse: (...args: Parameters<ResponseMemory['forget']>) => kept().forget(...args),
      forgetResponses: (...args: Parameters<ResponseMemory['forgetAll']>) =>
        kept().forgetAll(...args),
    },
  };
}

/** The worker's side. */
export function remoteResponses(rpc: RpcTo<ResponseCalls>): ResponseMemory {
  return {
    remember: (...args) => reach(rpc, () => rpc.rememberResponse(...args)),
    measure: (...args) => reach(rpc, () => rpc.measureResponse(...args)),
    recall: (...args) => reach(rpc, () => rpc.recallWhole(...args)),
    recallResponses: (...args) => reach(rpc, () => rpc.recallResponses(...args)),
    forget: (...args) => reach(rpc, () => rpc.forgetResponse(...args)),
    forgetAll: (...args) => reach(rpc, () => rpc.forgetResponses(...args)),
    close: () => undefined,
  };
}
