import { DENIED, type Ending } from './exchange.ts';
import { deniedProblem, type Problem, upstreamProblem } from './problem.ts';
import { UpstreamFailure } from './upstream-failure.ts';

/** A request that the sidecar answers itself: the ending of its exchange, and the answer. */
export interface Refusal {
  readonly ending: Ending;
  readonly problem: Problem;
}

/** For `limits.inFlight`. */
export function busyRefusal(): Refusal {
  const failure = new UpstreamFailure('D2S_ERR_UPSTREAM_BUSY');
  return { ending: { kind: 'failed', failure }, problem: upstreamProblem(failure) };
}

/** For `rest.deny`. */
export function deniedRefusal(): Refusal {
  return { ending: DENIED, problem: deniedProblem() };
}
