/** Ids of credits in the ledger, which must never equal a request id. */
export function topUpEntryId(topUpId: string): string {
  return `topup:${topUpId}`;
}
