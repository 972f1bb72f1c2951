import type { CallPlan } from '../truth/call-plan.ts';
import { isWithin, type SocketPlan } from '../truth/socket-plan.ts';
import type { Entry, Outcome } from './entry.ts';

export function whatWasExpected(entry: Entry, plan: CallPlan): string | undefined {
  return unlessExpected(entry, plan.leave !== undefined, outcomesOf(entry, plan));
}

export function whatSocketExpected(entry: Entry, plan: SocketPlan): string | undefined {
  return unlessExpected(entry, plan.leaveAfter !== undefined, socketOutcomesOf(plan));
}

function unlessExpected({ outcome }: Entry, mayLeave: boolean, expected: readonly Outcome[]): string | undefined {
  return (outcome === 'aborted' && mayLeave) || expected.includes(outcome) ? undefined : expected.join(' or ');
}

function outcomesOf({ isRequestSent, reason }: Entry, { fault, halfCloses }: CallPlan): readonly Outcome[] {
  switch (fault) {
    case undefined:
    case 'half-close':
    case 'twice':
    case 'close-after':
    case 'early':
      return ['answered'];
    // The upstream leaves with unread bytes, so its kernel resets the connection: the answer may be lost.
    case 'early-close':
      return ['answered', 'problem', 'failed'];
    case 'reset-before':
    case 'close-before':
    case 'rubbish':
      // A client that is still sending may find the connection closed before it has read the answer.
      return isRequestSent ? ['problem'] : ['problem', 'failed'];
    // A reset overtakes data sent before it.
    case 'reset-within':
      return ['failed', 'problem'];
    case 'close-within':
    case 'rubbish-within':
      return ['failed'];
    case 'never':
      // An upstream that sees the client's end closes as well.
      return reason === 'D2S_ERR_UPSTREAM_TIMEOUT' || halfCloses ? ['problem', 'failed'] : ['aborted'];
  }
}

function socketOutcomesOf({ fault }: SocketPlan): readonly Outcome[] {
  if (fault === undefined || fault === 'refuse') return ['answered'];
  if (fault === 'reset-before') return ['problem'];
  if (fault === 'never') return ['aborted', 'problem'];
  // A client that was told to stop may have closed in order before the planned fault.
  return isWithin(fault) ? ['failed', 'problem', 'answered'] : ['answered'];
}

/** Whether a request just after this call may get a 502: its upstream's connection may be closing (docs/architecture.md). */
export function leavesConnectionClosing({ fault }: CallPlan): boolean {
  return fault === 'half-close' || fault === 'twice' || fault === 'close-after' || fault === 'early-close';
}
