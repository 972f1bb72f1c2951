/** Converts the times of a stop, and checks the rule between them. */
import type { Config } from './config.ts';
import type { Conflict } from './conflict.ts';
import { toDurationText } from './duration.ts';
import type { ParsedConfig } from './schema.ts';
import { type Group, valueAt } from './written.ts';

/** Shortens defaults that would end after the deadline. */
export function buildStop({ delay, window, deadline }: ParsedConfig['stop']): Config['stop'] {
  const delayMs = Math.min(delay, deadline);
  return { delayMs, windowMs: Math.min(window, deadline - delayMs), deadlineMs: deadline };
}

/** Checks only what was `written`: a short deadline alone does not contradict the defaults of the others. */
export function findStopConflicts({ stop }: ParsedConfig, written: Group): readonly Conflict[] {
  const parts = (['delay', 'window'] as const).filter((name) => valueAt(written, ['stop', name]) !== undefined);
  const togetherMs = parts.reduce((sum, name) => sum + stop[name], 0);
  if (togetherMs <= stop.deadline) return [];
  const keys = parts.map((name) => `stop.${name}`);
  const times = parts.map((name) => toDurationText(stop[name])).join(' + ');
  const line =
    `stop.deadline: got ${toDurationText(stop.deadline)}, shorter than ${keys.join(' and ')} (${times}), ` +
    `expected at least ${toDurationText(togetherMs)}, or less for ${keys.join(' or ')}`;
  return [{ keys: ['stop.deadline', ...keys], line }];
}
