/**
 * How much of a response was sent to a client that left before its end. The whole response is
 * charged, because the upstream generates it anyway. The ledger keeps this with the remarks of the
 * charge.
 */

export interface Delivery {
  /**
   * Bytes that were sent to the client. It may not have read the last of them. A write of which
   * only a part was sent is not counted.
   */
  readonly sentBytes: number;
  /** Bytes of the whole response, in the client's format. */
  readonly bytes: number;
}

/** It begins the remarks of a charge. */
export function deliveryRemark({ sentBytes, bytes }: Delivery): string {
  return `client_left: ${String(sentBytes)} of ${String(bytes)} bytes of the response were sent`;
}

const REMARK = /^client_left: (\d{1,15}) of (\d{1,15}) bytes of the response were sent(?:; |$)/;

/** @returns `undefined` if the client stayed until the end */
export function readDelivery(remarks: string | undefined): Delivery | undefined {
  const [, sentBytes, bytes] = REMARK.exec(remarks ?? '') ?? [];
  return sentBytes === undefined
    ? undefined
    : { sentBytes: Number(sentBytes), bytes: Number(bytes) };
}

/** About how many of the output tokens were sent. Bytes do not show where a token ends. */
export function sentTokens({ sentBytes, bytes }: Delivery, outputTokens: number): number {
  if (bytes === 0) return 0;
  // The product may exceed the integers of a number.
  const tokens = Number((BigInt(outputTokens) * BigInt(sentBytes)) / BigInt(bytes));
  return Math.min(outputTokens, tokens);
}
