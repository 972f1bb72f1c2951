/** The plan of one call, of client and upstream. It follows from seed and id, so both know it, and any change in between shows. */
import type { Random } from '../../support/fuzz/random.ts';
import { randomOf } from './pattern.ts';

/** Clients abort only `sba` calls and `comet` polls, so that the sidecar's counts of the others (`page`: unclassified) are exact. */
export type CallKind = 'rpc' | 'sba' | 'object' | 'page' | 'comet';

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE' | 'HEAD';

/** What the upstream does instead of, or besides, answering; some only for some calls. */
const FAULTS = ['reset-before', 'close-before', 'rubbish', 'half-close', 'twice', 'close-after'] as const;
const FAULTS_WITHIN = ['reset-within', 'close-within', 'rubbish-within'] as const;
const EARLY_FAULTS = ['early', 'early-close'] as const;
const POLL_FAULTS = ['reset-before', 'close-before', 'rubbish', 'never', 'twice', 'close-after'] as const;
type CallFault = (typeof FAULTS | typeof FAULTS_WITHIN | typeof EARLY_FAULTS | typeof POLL_FAULTS)[number];

interface MessagePlan<Framing> {
  readonly framing: Framing;
  readonly bytes: number;
  readonly hasTrailer: boolean;
  /** The body is sent in pieces of this size, with a pause after each; 0: in one. */
  readonly pieceBytes: number;
  readonly isLast: boolean;
}

interface AnswerPlan extends MessagePlan<'none' | 'length' | 'chunked' | 'close'> {
  readonly status: number;
  readonly hasInterim: boolean;
  readonly delayMs: number;
  /** Values of objects in the answer to a poll. */
  readonly values: number;
}

export interface CallPlan {
  readonly id: string;
  readonly kind: CallKind;
  readonly method: Method;
  readonly target: string;
  readonly user: number;
  readonly request: MessagePlan<'none' | 'length' | 'chunked'>;
  readonly answer: AnswerPlan;
  readonly fault: CallFault | undefined;
  /** The client leaves then; `share` is how much of the head, body or answer has passed, or the part of 2 s that it waits. */
  readonly leave:
    | {
        readonly at: 'connecting' | 'head' | 'body' | 'waiting' | 'answer';
        readonly share: number;
        readonly byReset: boolean;
      }
    | undefined;
  readonly halfCloses: boolean;
  readonly readsSlowly: boolean;
}

export const USERS = 10;
const OBJECT_NAMES = 10;
const PLAIN = { hasTrailer: false, pieceBytes: 0, isLast: false };

/** Letters of ids: `r` call, `p` poll, `s` WebSocket. */
export function planCall(seed: number, id: string): CallPlan {
  const random = randomOf(seed, id);
  return id.startsWith('p') ? planPoll(id, random) : planRest(id, random);
}

function planRest(id: string, random: Random): CallPlan {
  const kind = random.pick(['rpc', 'rpc', 'rpc', 'object', 'page', 'sba'] as const);
  const method = pickMethod(kind, random);
  const fault = random.chance(0.85) ? undefined : pickFault(kind, method, random);
  const request = planRequest(method, random);
  const isAnyway = kind === 'sba';
  const mustLeave = fault === 'never';
  return {
    ...{ id, kind, method, target: targetOf(kind, id, random), user: random.below(USERS), request },
    ...{ answer: planAnswer(method, fault, random), fault },
    leave: mustLeave || (isAnyway && random.chance(0.7)) ? planLeave(mustLeave, request.bytes, random) : undefined,
    halfCloses: isAnyway && random.chance(0.2),
    readsSlowly: random.chance(0.05),
  };
}

function planPoll(id: string, random: Random): CallPlan {
  const fault = random.chance(0.85) ? undefined : random.pick(POLL_FAULTS);
  const mustLeave = fault === 'never';
  const bytes = 200 + random.below(1_000);
  return {
    ...{ id, kind: 'comet', method: 'POST', target: '/smartWeb/api/cometd/connect', user: random.below(USERS) },
    request: { ...PLAIN, framing: random.chance(0.8) ? 'length' : 'chunked', bytes },
    answer: {
      ...PLAIN,
      status: 200,
      framing: random.chance(0.5) ? 'length' : 'chunked',
      bytes: 300 + sizeOf(random, 40_000),
      hasInterim: false,
      delayMs: 50 + random.below(2_500),
      values: random.below(3),
    },
    fault,
    leave: mustLeave || random.chance(0.15) ? planLeave(true, bytes, random) : undefined,
    halfCloses: false,
    readsSlowly: false,
  };
}

function pickMethod(kind: CallKind, random: Random): Method {
  if (kind === 'object') return 'GET';
  if (kind === 'page') return random.pick(['GET', 'GET', 'PUT', 'DELETE', 'HEAD'] as const);
  return kind === 'sba' && random.chance(0.4) ? 'GET' : 'POST';
}

function pickFault(kind: CallKind, method: Method, random: Random): CallFault {
  const faults: CallFault[] = [...FAULTS];
  if (method !== 'HEAD') faults.push(...FAULTS_WITHIN);
  if (method === 'POST' || method === 'PUT') faults.push(...EARLY_FAULTS);
  if (kind === 'sba') faults.push('never', 'never', 'never');
  return random.pick(faults);
}

function planRequest(method: Method, random: Random): CallPlan['request'] {
  const isLast = random.chance(0.05);
  // A DELETE may have a body, and some proxies lose it.
  if (method === 'GET' || method === 'HEAD' || (method === 'DELETE' && random.chance(0.5)))
    return { ...PLAIN, framing: 'none', bytes: 0, isLast };
  const isChunked = random.chance(0.4);
  return {
    framing: isChunked ? 'chunked' : 'length',
    bytes: sizeOf(random, 300_000),
    hasTrailer: isChunked && random.chance(0.2),
    pieceBytes: random.chance(0.1) ? 1 + random.below(4_000) : 0,
    isLast,
  };
}

function planAnswer(method: Method, fault: CallFault | undefined, random: Random): AnswerPlan {
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

function pickAnswerFraming(method: Method, fault: CallFault | undefined, random: Random): AnswerPlan['framing'] {
  if (method === 'HEAD') return 'none';
  if (fault === 'rubbish-within') return 'chunked';
  // If cut off by an orderly end, an answer that ends with its connection looks complete.
  if (fault === 'close-within' || fault === 'twice') return random.pick(['length', 'chunked'] as const);
  if (fault === 'reset-within') return random.pick(['length', 'chunked', 'close'] as const);
  const usual = [...Array<'length'>(4).fill('length'), ...Array<'chunked'>(3).fill('chunked')];
  return random.pick([...usual, 'close', 'none'] as const);
}

function pickStatus(random: Random): number {
  return random.chance(0.9) ? 200 : random.pick([201, 302, 400, 401, 404, 500, 503]);
}

/** Mostly small, sometimes as large as `most`. */
function sizeOf(random: Random, most: number): number {
  const share = random.next();
  if (share < 0.05) return 0;
  const usual = share < 0.65 ? 1_000 : share < 0.93 ? 20_000 : share < 0.99 ? 150_000 : most;
  return random.below(Math.min(most, usual));
}

function planLeave(onlyWaiting: boolean, bytes: number, random: Random): CallPlan['leave'] {
  const moments = ['connecting', 'head', 'body', 'waiting', 'waiting', 'answer'] as const;
  const at = onlyWaiting ? 'waiting' : random.pick(moments);
  return { at: at === 'body' && bytes === 0 ? 'waiting' : at, share: random.next(), byReset: random.chance(0.5) };
}

function targetOf(kind: CallKind, id: string, random: Random): string {
  const name = random.below(OBJECT_NAMES);
  if (kind === 'page') return `/smartWeb/pages//${name}/%7Eindex.html?call=${id}`;
  const path = kind === 'object' ? `H.Chaos${name}` : `E.Chaos/${kind === 'rpc' ? 'Call' : 'File'}${name}`;
  return `/smartWeb/api/rest/v0/d2/${kind}/${path}?call=${id}`;
}
