/** Creates sources over HTTP for tests, and reads them. */
import { inspect } from 'node:util';
import { createJvmGauges, joinJvmGauges } from '../../../../src/jvm/gauges.ts';
import type { Credentials } from '../../../../src/jvm/http/server-credentials.ts';
import { type JvmReading, JvmSourceError } from '../../../../src/jvm/jvm-source.ts';

export function credentialsOf(username: string, password: string): () => Promise<Credentials> {
  return async () => ({ username, password });
}

/** Gives up after two seconds; these servers need a few milliseconds. */
export function soon(): AbortSignal {
  return AbortSignal.timeout(2_000);
}

/** The values of all gauges by their names. */
export function gaugesOf(reading: JvmReading): Map<string, number> {
  return new Map(
    [...joinJvmGauges(createJvmGauges(reading)).gauges].map(([name, gauge]) => [name, Number(gauge.read())]),
  );
}

/** The error of a reading or a search that must fail. */
export async function failureOf(reading: Promise<unknown> | (() => unknown)): Promise<JvmSourceError> {
  try {
    await (typeof reading === 'function' ? reading() : reading);
  } catch (cause) {
    if (cause instanceof JvmSourceError) return cause;
    throw new Error(`not a JvmSourceError: ${inspect(cause)}`, { cause });
  }
  throw new Error('there was a reading');
}
