/**
 * The plan of one call: what its client sends and does, and what the upstream answers and does to it. All of it follows from the
 * seed and the call's id, so client and upstream know it without communicating, and any change in between shows.
 */
import type { Random } from '../../support/fuzz/random.ts';
import { randomOf } from './pattern.ts';

/**
 * Clients never abort `rpc`, `object` and `page` (unclassified) calls, so that the sidecar's counts of them are known
 * exactly; clients abort `sba` calls and `comet` polls.
 */
export type CallKind = 'rpc' | 'sba' | 'object' | 'page' | 'comet';

export const CALL_KINDS: readonly CallKind[] = ['rpc', 'sba', 'object', 'page', 'comet'];

/** What the upstream does instead of, or besides, answering. */
export type CallFault =
  | 'reset-before'
  | 'close-before'
  | 'rubbish'
  | 'reset-within'
  | 'close-within'
  | 'rubbish-within'
  | 'half-close'
  | 'early'
  | 'early-close'
  | 'twice'
  | 'close-after'
  | 'never';

export type Leaving = 'connecting' | 'head' | 'body' | 'waiting' | 'answer';

export interface CallPlan {
  /** e.g. `r17`. */
  readonly id: string;
  readonly kind: CallKind;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'HEAD';
  readonly target: string;
  readonly user: number;
  readonly request: {
    readonly framing: 'none' | 'length' | 'chunked';
    readonly bytes: number;
    readonly hasTrailer: boolean;
    /** The body is sent in pieces of this size, with a pause after each; 0: in one. */
    readonly pieceBytes: number;
    readonly isLast: boolean;
  };
  readonly answer: {
    readonly status: number;
    readonly framing: 'none' | 'length' | 'chunked' | 'close';
    readonly bytes: number;
    readonly hasTrailer: boolean;
    readonly hasInterim: boolean;
    readonly delayMs: number;
    readonly pieceBytes: number;
    readonly isLast: boolean;
    /** Values of objects in the answer to a poll. */
    readonly values: number;
  };
  readonly fault: CallFault | undefined;
  /** The client leaves then; `share` is how much of the head, body or answer has passed, or the part of 2 s that it waits. */
  readonly leave: { readonly at: Leaving; readonly share: number; readonly byReset: boolean } | undefined;
  /** The client closes its sending side after the request. */
  readonly halfCloses: boolean;
  readonly readsSlowly: boolean;
}

export const USERS = 10;
export const OBJECT_NAMES = 10;

/** Letters of ids: `r` call, `p` poll, with all faults; `q`, `o` the same in calm; `s`, `t` WebSockets. */
export type CallLetter = 'r' | 'p' | 'q' | 'o';

const NO_BODY = { framing: 'none', bytes: 0, hasTrailer: false, pieceBytes: 0, isLast: false } as const;

export function planCall(seed: number, id: string): CallPlan {
  const random = randomOf(seed, id);
  const letter = id[0] as CallLetter;
  const isCalm = letter === 'q' || letter === 'o';
  return letter === 'p' || letter === 'o' ? planPoll(id, random, isCalm) : planRest(id, random, isCalm);
}

function planRest(id: string, random: Random, isCalm: boolean): CallPlan {
  const kind = random.pick(['rpc', 'rpc', 'rpc', 'object', 'page', 'sba'] as const);
  const method = pickMethod(kind, random);
  const fault = isCalm || random.chance(0.85) ? undefined : pickFault(kind, method, random);
  const request = planRequest(method, random);
  const isAnyway = kind === 'sba' && !isCalm;
  const mustLeave = fault === 'never';
  return {
    id,
    kind,
    method,
    target: targetOf(kind, id, random),
    user: random.below(USERS),
    request,
    answer: planAnswer(method, fault, random),
    fault,
    leave: mustLeave || (isAnyway && random.chance(0.7)) ? planLeave(mustLeave, request.bytes, random) : undefined,
    halfCloses: isAnyway && random.chance(0.2),
    readsSlowly: random.chance(isCalm ? 0.01 : 0.05),
  };
}

function planPoll(id: string, random: Random, isCalm: boolean): CallPlan {
  const fault =
    isCalm || random.chance(0.85)
      ? undefined
      : random.pick(['reset-before', 'close-before', 'rubbish', 'never', 'twice', 'close-after'] as const);
  const mustLeave = fault === 'never';
  const bytes = 200 + random.below(1_000);
  return {
    id,
    kind: 'comet',
    method: 'POST',
    target: '/smartWeb/api/cometd/connect',
    user: random.below(USERS),
    request: {
      framing: random.chance(0.8) ? 'length' : 'chunked',
      bytes,
      hasTrailer: false,
      pieceBytes: 0,
      isLast: false,
    },
    answer: {
      status: 200,
      framing: random.chance(0.5) ? 'length' : 'chunked',
      bytes: 300 + sizeOf(random, 40_000),
      hasTrailer: false,
      hasInterim: false,
      delayMs: 50 + random.below(isCalm ? 400 : 2_500),
      pieceBytes: 0,
      isLast: false,
      values: random.below(3),
    },
    fault,
    leave: mustLeave || (!isCalm && random.chance(0.15)) ? planLeave(true, bytes, random) : undefined,
    halfCloses: false,
    readsSlowly: false,
  };
}

function pickMethod(kind: CallKind, random: Random): CallPlan['method'] {
  if (kind === 'object') return 'GET';
  if (kind === 'page') return random.pick(['GET', 'GET', 'PUT', 'DELETE', 'HEAD'] as const);
  return kind === 'sba' && random.chance(0.4) ? 'GET' : 'POST';
}

function pickFault(kind: CallKind, method: CallPlan['method'], random: Random): CallFault {
  const faults: CallFault[] = ['reset-before', 'close-before', 'rubbish', 'half-close', 'twice', 'close-after'];
  if (method !== 'HEAD') faults.push('reset-within', 'close-within', 'rubbish-within');
  if (method === 'POST' || method === 'PUT') faults.push('early', 'early-close');
  if (kind === 'sba') faults.push('never', 'never', 'never');
  return random.pick(faults);
}

function planRequest(method: CallPlan['method'], random: Random): CallPlan['request'] {
  const isLast = random.chance(0.05);
  // A DELETE may have a body, and some proxies lose it.
  if (method === 'GET' || method === 'HEAD' || (method === 'DELETE' && random.chance(0.5)))
    return { ...NO_BODY, isLast };
  const isChunked = random.chance(0.4);
  return {
    framing: isChunked ? 'chunked' : 'length',
    bytes: sizeOf(random, 300_000),
    hasTrailer: isChunked && random.chance(0.2),
    pieceBytes: random.chance(0.1) ? 1 + random.below(4_000) : 0,
    isLast,
  };
}

function planAnswer(method: CallPlan['method'], fault: CallFault | undefined, random: Random): CallPlan['answer'] {
  const framing = pickAnswerFraming(method, fault, random);
  const isWithin = fault?.endsWith('-within') === true;
  return {
    status: framing === 'none' && method !== 'HEAD' ? 204 : pickStatus(random),
    framing,
    bytes: framing === 'none' ? 0 : (isWithin ? 2_000 : 0) + sizeOf(random, 1_000_000),
    hasTrailer: framing === 'chunked' && random.chance(0.2),
    hasInterim: random.chance(0.03),
    delayMs: random.chance(0.7) ? 0 : random.below(150),
    pieceBytes: isWithin || random.chance(0.1) ? 1 + random.below(8_000) : 0,
    isLast: framing === 'close' || random.chance(0.03),
    values: 0,
  };
}

function pickAnswerFraming(
  method: CallPlan['method'],
  fault: CallFault | undefined,
  random: Random,
): CallPlan['answer']['framing'] {
  if (method === 'HEAD') return 'none';
  if (fault === 'rubbish-within') return 'chunked';
  // If cut off by an orderly end, an answer that ends with its connection looks complete.
  if (fault === 'close-within' || fault === 'twice') return random.pick(['length', 'chunked'] as const);
  if (fault === 'reset-within') return random.pick(['length', 'chunked', 'close'] as const);
  return random.pick([
    'length',
    'length',
    'length',
    'length',
    'chunked',
    'chunked',
    'chunked',
    'close',
    'none',
  ] as const);
}

function pickStatus(random: Random): number {
  if (random.chance(0.9)) return 200;
  return random.pick([201, 302, 400, 401, 404, 500, 503] as const);
}

/** Mostly small, sometimes as large as `most`. */
function sizeOf(random: Random, most: number): number {
  const share = random.next();
  if (share < 0.05) return 0;
  if (share < 0.65) return random.below(Math.min(most, 1_000));
  if (share < 0.93) return random.below(Math.min(most, 20_000));
  if (share < 0.99) return random.below(Math.min(most, 150_000));
  return random.below(most);
}

function planLeave(onlyWaiting: boolean, bytes: number, random: Random): CallPlan['leave'] {
  const at = onlyWaiting
    ? 'waiting'
    : random.pick(['connecting', 'head', 'body', 'waiting', 'waiting', 'answer'] as const);
  return { at: at === 'body' && bytes === 0 ? 'waiting' : at, share: random.next(), byReset: random.chance(0.5) };
}

function targetOf(kind: CallKind, id: string, random: Random): string {
  const name = random.below(OBJECT_NAMES);
  switch (kind) {
    case 'rpc':
      return `/smartWeb/api/rest/v0/d2/rpc/E.Chaos/Call${name}?call=${id}`;
    case 'sba':
      return `/smartWeb/api/rest/v0/d2/sba/E.Chaos/File${name}?call=${id}`;
    case 'object':
      return `/smartWeb/api/rest/v0/d2/object/H.Chaos${name}?call=${id}`;
    default:
      return `/smartWeb/pages//${name}/%7Eindex.html?call=${id}`;
  }
}
