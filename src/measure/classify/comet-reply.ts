import { type JsonPointer, resolvePointer } from '../../protocol/bayeux/json-pointer.ts';
import { type BayeuxMessage, toId } from '../../protocol/bayeux/message.ts';

/** A rule's `reply`, compiled: how to find the answer to a call, and whether it failed. One object for each rule. */
export interface ReplyRule {
  /** Channel of the answer; undefined: the channel of the call. */
  readonly channel: string | undefined;
  /** Points to the correlation id, in the call and in the answer. */
  readonly id: JsonPointer;
  /** Points to the error in the answer; undefined when the rule gives none. */
  readonly error: JsonPointer | undefined;
}

/** The id that correlates call and answer; undefined when the message has neither a text nor a number there. */
export function toReplyId(reply: ReplyRule, message: BayeuxMessage): string | undefined {
  return toId(resolvePointer(message, reply.id));
}

/** Whether the answer is an error: `successful` is false, or the pointer finds anything but null, false or ''. */
export function isFailedReply(reply: ReplyRule, answer: BayeuxMessage): boolean {
  if (answer.successful === false) return true;
  if (reply.error === undefined) return false;
  const error = resolvePointer(answer, reply.error);
  return error !== undefined && error !== null && error !== false && error !== '';
}
