import { type JsonPointer, resolvePointer } from '../../protocol/bayeux/json-pointer.ts';
import { type BayeuxMessage, toId } from '../../protocol/bayeux/message.ts';

/** How the answer to a call is found, and what it says: a rule's `reply`, compiled. One object for each rule. */
export interface ReplyRule {
  /** Channel that the answer comes on; undefined: that of the call. */
  readonly channel: string | undefined;
  /** To what ties call and answer together, in both messages. */
  readonly id: JsonPointer;
  /** Into the answer; undefined: the rule does not say. */
  readonly error: JsonPointer | undefined;
}

/** What ties a call and its answer together; undefined where the message has neither a text nor a number there. */
export function toReplyId(reply: ReplyRule, message: BayeuxMessage): string | undefined {
  return toId(resolvePointer(message, reply.id));
}

/** Whether this answer says failure: `successful` is false, or the rule's pointer finds anything but null, false or ''. */
export function isFailedReply(reply: ReplyRule, answer: BayeuxMessage): boolean {
  if (answer.successful === false) return true;
  if (reply.error === undefined) return false;
  const error = resolvePointer(answer, reply.error);
  return error !== undefined && error !== null && error !== false && error !== '';
}
