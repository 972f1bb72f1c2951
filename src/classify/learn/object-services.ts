/** Finds the services by which objects are subscribed: a text that is published there comes back with the values. */
import type { EchoRelation } from './channel-record.ts';
import type { JudgedFamily } from './judged-family.ts';
import { SUBSCRIBES, UNSUBSCRIBES } from './words.ts';

export interface ObjectService {
  readonly asking: readonly ServiceChannel[];
  readonly ending: readonly ServiceChannel[];
  readonly deliveries: JudgedFamily;
  /** Pointer to the object's name in the values. */
  readonly told: string;
}

interface ServiceChannel {
  readonly family: JudgedFamily;
  /** Pointer to the object's name in the message. */
  readonly pointer: string;
  /** No word in the channel says so. */
  readonly isGuess: boolean;
}

/** One for each channel of values. `isOther`: what is a call, or read by a rule already. */
export function findServices(
  families: readonly JudgedFamily[],
  isOther: (family: JudgedFamily) => boolean,
): ObjectService[] {
  const asked = families.filter((family) => !isOther(family) && family.record.counts.published > 0);
  return families
    .filter(({ record, pattern }) => record.counts.delivered > 0 && !pattern.hasWildcard)
    .flatMap((deliveries) => findService(deliveries, asked) ?? []);
}

function findService(deliveries: JudgedFamily, asked: readonly JudgedFamily[]): ObjectService | undefined {
  const echoes = asked.flatMap((family) => {
    const echo = bestEcho(family, deliveries);
    return echo === undefined || saysEnd(family) ? [] : [{ family, echo }];
  });
  const told = echoes.sort((a, b) => b.echo.count - a.echo.count)[0]?.echo.told;
  if (told === undefined) return undefined;
  const same = echoes.filter(({ echo }) => echo.told === told);
  const asking = same.filter(({ family, echo }) => saysBegin(family) || isFirst(family, echo, same));
  const ending = asked
    .filter((family) => !asking.some((other) => other.family === family))
    .flatMap((family) => toEnding(family, deliveries, asking) ?? []);
  for (const { family } of same) {
    if (asking.some((other) => other.family === family) || ending.some((other) => other.family === family)) continue;
    family.remarks.push('no rule: speaks of objects that are subscribed elsewhere, and does something else with them');
  }
  const channels = asking.map(({ family, echo }) => ({ family, pointer: echo.asked, isGuess: !saysBegin(family) }));
  return channels.length === 0 ? undefined : { asking: channels, ending, deliveries, told };
}

/** What ends a subscription comes after it, and no values come after that. */
function toEnding(
  family: JudgedFamily,
  deliveries: JudgedFamily,
  asking: readonly { readonly family: JudgedFamily }[],
): ServiceChannel | undefined {
  const follows = family.record.followRelations.find(({ on }) => asking.some((other) => other.family.record === on));
  if (follows === undefined || saysBegin(family)) return undefined;
  const isGuess = !saysEnd(family);
  const last = bestEcho(family, deliveries)?.last ?? 0;
  if (isGuess && (last > 0 || follows.count < MIN_TO_GUESS)) return undefined;
  return { family, pointer: follows.pointer, isGuess };
}

/** Whether the texts are published here first, and on the others later. */
function isFirst(
  { record }: JudgedFamily,
  echo: EchoRelation,
  others: readonly { readonly family: JudgedFamily }[],
): boolean {
  const after = record.followRelations.filter(({ on }) => others.some(({ family }) => family.record === on));
  const times = after.reduce((sum, { count }) => sum + count, 0);
  return echo.last > 0 && times * 2 < record.counts.published;
}

function bestEcho({ record }: JudgedFamily, deliveries: JudgedFamily): EchoRelation | undefined {
  const echoes = record.echoRelations.filter(({ on }) => on === deliveries.record);
  return echoes.find(({ told }) => NAMES.test(told)) ?? echoes[0];
}

function saysBegin(family: JudgedFamily): boolean {
  return !saysEnd(family) && SUBSCRIBES.test(lastWordOf(family));
}

function saysEnd(family: JudgedFamily): boolean {
  return UNSUBSCRIBES.test(lastWordOf(family));
}

function lastWordOf({ pattern }: JudgedFamily): string {
  return pattern.words.at(-1) ?? '';
}

const MIN_TO_GUESS = 2;
const NAMES = /name$|(?:object|tag|item|point|signal|symbol|topic)(?:id)?$/i;
