/** The schedule of a run: lives of the sidecar, faults of the whole upstream. Everything follows from the seed. */
import type { Random } from '../../support/fuzz/random.ts';
import { randomOf } from '../truth/pattern.ts';

/**
 * `kill` and `restart`: the upstream ends by SIGKILL or SIGTERM and comes back; `refuse`: its port is closed; `silent`: it is
 * stopped (SIGSTOP); `reset-new`: it resets new connections; `reset-all`: it resets open connections.
 */
const UPSTREAM_FAULTS = ['kill', 'restart', 'refuse', 'silent', 'reset-new', 'reset-all'] as const;

export type UpstreamFaultKind = (typeof UPSTREAM_FAULTS)[number];

export interface UpstreamFault {
  readonly kind: UpstreamFaultKind;
  readonly atMs: number;
  readonly forMs: number;
}

/** How a stage of chaos ends: all clients stop, and every number is compared; or the sidecar ends by that signal under load. */
export type StageEnd = 'quiet' | 'term' | 'kill';

export interface Stage {
  readonly chaosMs: number;
  readonly faults: readonly UpstreamFault[];
  readonly end: StageEnd;
}

export interface Life {
  readonly responseTimeoutMs: number;
  /** The upstream starts this much later than the sidecar; undefined: it is running already. */
  readonly upstreamComesAfterMs: number | undefined;
  /** How long the sidecar's port stays closed before this life. */
  readonly awayMs: number;
  readonly stages: readonly Stage[];
}

export interface Weather {
  readonly lives: readonly Life[];
  /** The last life: its first stage warms up; then memory and descriptors are compared before and after the others, in calm. */
  readonly long: Life;
}

const LONGEST_STAGE_MS = 25_000;
const SHORTEST_STAGE_MS = 4_000;
/** Approximate time of a start, a quiet point and the calm around them. */
const OVERHEAD_MS = 1_500;
const FAULT_GAP_MS = 2_500;

/** Every kind of life once; a longer run repeats them. */
const SKETCHES: readonly (readonly StageEnd[])[] = [
  ['quiet'],
  ['term'],
  ['kill'],
  ['quiet', 'kill'],
  ['quiet', 'quiet'],
];

export function makeWeather(seed: number, totalMs: number): Weather {
  const random = randomOf(seed, 'weather');
  const draw = deckOfFaults(random);
  const stageMs = Math.max(SHORTEST_STAGE_MS, Math.min(LONGEST_STAGE_MS, totalMs / 16));
  const lives: Life[] = [];
  // Two thirds for restarts, the last third for the long life.
  for (let leftMs = (totalMs * 2) / 3, i = 0; leftMs > stageMs; i += 1) {
    const ends = SKETCHES[i % SKETCHES.length] as (typeof SKETCHES)[number];
    const stages = ends.map((end) => makeStage(random, draw, stageMs, end));
    lives.push({
      responseTimeoutMs: random.chance(0.4) ? 4_000 : 0,
      upstreamComesAfterMs: i % 4 === 0 ? 300 + random.below(1_500) : undefined,
      awayMs: i === 0 ? 0 : random.below(1_000),
      stages,
    });
    leftMs -= stages.reduce((sum, { chaosMs }) => sum + chaosMs + OVERHEAD_MS, 0);
  }
  const longStages = Math.max(3, Math.round(totalMs / 3 / (stageMs + OVERHEAD_MS)));
  const stages = Array.from({ length: longStages }, () => makeStage(random, draw, stageMs, 'quiet'));
  const long: Life = { responseTimeoutMs: 0, upstreamComesAfterMs: undefined, awayMs: 0, stages };
  return { lives, long };
}

function makeStage(random: Random, draw: () => UpstreamFaultKind, aboutMs: number, end: StageEnd): Stage {
  const chaosMs = Math.round(aboutMs * (0.8 + 0.4 * random.next()));
  const faults: UpstreamFault[] = [];
  let atMs = random.below(FAULT_GAP_MS);
  while (atMs < chaosMs - 1_000) {
    const forMs = 100 + random.below(1_200);
    faults.push({ kind: draw(), atMs, forMs });
    atMs += forMs + 1_000 + random.below(2 * FAULT_GAP_MS);
  }
  return { chaosMs, faults, end };
}

/** Draws each kind once before any of them again. */
function deckOfFaults(random: Random): () => UpstreamFaultKind {
  let left: UpstreamFaultKind[] = [];
  return () => {
    if (left.length === 0) left = [...UPSTREAM_FAULTS];
    return left.splice(random.below(left.length), 1)[0] as UpstreamFaultKind;
  };
}
