import type { CometWhen } from '../comet-rule-compiler.ts';
import type { ChannelCounts, ChannelRecord } from './channel-record.ts';
import type { FamilyPattern } from './family-pattern.ts';

/** A family of channels with what has become of it. */
export interface JudgedFamily {
  readonly pattern: FamilyPattern;
  readonly record: ChannelRecord;
  /** Lines for people: read by a rule already, or why there is no rule. */
  readonly remarks: string[];
}

/** Which count tells how often it happened. */
export const COUNTED_AS: Readonly<Record<CometWhen, keyof ChannelCounts>> = {
  subscribe: 'subscribed',
  unsubscribe: 'unsubscribed',
  publish: 'published',
  delivery: 'delivered',
};

/** Whether rules that are there already read most of what happens. */
export function isRead({ read, counts }: ChannelRecord, when: CometWhen): boolean {
  return read[when] > 0 && read[when] * 2 >= counts[COUNTED_AS[when]];
}
