/** The plan of one WebSocket; like that of a call, it follows from the seed and its id. */
import { clientIdOf } from './messages.ts';
import { patternOf, randomOf } from './pattern.ts';

export type SocketFault = 'refuse' | 'reset-before' | 'never' | 'reset-within' | 'close-within' | 'part-of-a-frame';

export interface SocketPlan {
  readonly id: string;
  /** Whether it is at the Comet endpoint, where the sidecar reads it; its messages are Bayeux then, otherwise binary. */
  readonly isComet: boolean;
  readonly target: string;
  readonly messages: number;
  readonly pauseMs: number;
  readonly fault: SocketFault | undefined;
  readonly faultAfter: number;
  /** The client leaves after this many echoes, without a close frame; or after a second if the upstream never answers. */
  readonly leaveAfter: number | undefined;
  readonly byReset: boolean;
}

/** With its envelope, a Bayeux message stays below the 64 KiB up to which the sidecar reads and counts one. */
const MOST_READ_BYTES = 64_000;

const WITHIN: readonly (SocketFault | undefined)[] = ['reset-within', 'close-within', 'part-of-a-frame'];

export function planSocket(seed: number, id: string): SocketPlan {
  const random = randomOf(seed, id);
  const isComet = random.chance(0.5);
  const messages = 1 + random.below(40);
  const fault = random.chance(0.8) ? undefined : random.pick(['refuse', 'reset-before', 'never', ...WITHIN] as const);
  return {
    id,
    isComet,
    target: `/smartWeb/${isComet ? 'api/cometd' : 'live/echo'}?call=${id}`,
    messages,
    pauseMs: random.below(150),
    fault,
    faultAfter: random.below(messages),
    leaveAfter: fault === 'never' || random.chance(0.3) ? random.below(messages) : undefined,
    byReset: random.chance(0.5),
  };
}

export function isWithin(fault: SocketFault | undefined): boolean {
  return fault !== undefined && WITHIN.includes(fault);
}

/** Message `at` of a WebSocket, in the direction `up` (from the client) or `down` (its echo). */
export function messageOf(seed: number, plan: SocketPlan, direction: 'up' | 'down', at: number): Buffer {
  const label = `${plan.id}/${direction}/${at}`;
  const random = randomOf(seed, `${label}/size`);
  const bytes = random.chance(0.9) ? random.below(2_000) : random.below(plan.isComet ? MOST_READ_BYTES : 90_000);
  const pattern = patternOf(seed, label, plan.isComet ? bytes >> 1 : bytes);
  if (!plan.isComet) return pattern;
  const message = { channel: '/chaos/echo', clientId: clientIdOf(plan.id), id: `${plan.id}.${at}` };
  return Buffer.from(JSON.stringify([{ ...message, data: { direction, noise: pattern.toString('hex') } }]), 'latin1');
}

export function socketRequestLines({ id, target }: SocketPlan): string[] {
  return [
    `GET ${target} HTTP/1.1`,
    'Host: plant.example',
    `X-Chaos: ${id}`,
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Key: ${keyOf(id)}`,
    'Sec-WebSocket-Version: 13',
  ];
}

export function keyOf(id: string): string {
  return Buffer.from(`chaos ${id}`.padEnd(16, '.').slice(0, 16)).toString('base64');
}

export const REFUSAL_BODY = 'no WebSocket for you';
