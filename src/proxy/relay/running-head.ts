import type { Http1RequestHead } from '../../protocol/http1/request-head.ts';

/** What a running request keeps of its head, which may have 64 KiB. */
export type RunningHead = Pick<Http1RequestHead, 'method' | 'isOld' | 'isLast'>;

export function runningHead({ method, isOld, isLast }: Http1RequestHead): RunningHead {
  return { method, isOld, isLast };
}
