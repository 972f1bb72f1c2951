import type { ReplyRule } from '../../config/rules/comet-rules.ts';
import { resolvePointer } from '../../config/rules/json-pointer.ts';
import { type BayeuxMessage, toId } from '../../protocol/bayeux/message.ts';

/** The id that correlates call and answer; undefined when the message has neither a text nor a number there. */
export function readReplyId(reply: ReplyRule, message: BayeuxMessage): string | undefined {
  return toId(resolvePointer(message, reply.id));
}

/** Whether the answer is an error: `successful` is false, or the pointer finds anything but null, false or ''. */
export function isFailedReply(reply: ReplyRule, answer: BayeuxMessage): boolean {
  if (answer.successful === false) return true;
  if (reply.error === undefined) return false;
  const error = resolvePointer(answer, reply.error);
  return error !== undefined && error !== null && error !== false && error !== '';
}
