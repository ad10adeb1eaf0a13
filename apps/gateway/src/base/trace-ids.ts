/** Names a request's span in logs and exemplars. */
export interface TraceIds {
  readonly traceId: string;
  readonly spanId: string;
}
