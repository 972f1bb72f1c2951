/** The OTLP export of a plant of the monitor's tests, with short times and a readable log. */
import type { Logger } from '../../../../src/base/logger.ts';
import type { Config } from '../../../../src/config/config.ts';
import { Otlp, type OtlpParts } from '../../../../src/export/otlp/otlp.ts';
import { CallObservers } from '../../../../src/measure/record/call-observer.ts';
import { testConfig } from '../../../support/wire/test-config.ts';

export type OtlpConfig = Config['otlp'];

export function otlpConfig(overrides: Partial<OtlpConfig> = {}): OtlpConfig {
  return {
    ...{ endpoint: undefined, headersFile: undefined, headersEnv: undefined, caFile: undefined, timeoutMs: 10_000 },
    metrics: { enabled: true, intervalMs: 3_600_000, histograms: 'explicit' },
    traces: { enabled: false, sampleRatio: 0, slowerThanMs: 0 },
    ...overrides,
  };
}

export function createLineLogger() {
  const lines: { readonly level: string; readonly message: string; readonly [detail: string]: unknown }[] = [];
  const to =
    (level: string): Logger['info'] =>
    (details: unknown, message = '') =>
      void lines.push({ level, message, ...(details as object) });
  return { lines, debug: to('debug'), info: to('info'), warn: to('warn'), error: to('error') };
}

export type OtlpStand = ReturnType<typeof createStand>;

export function createStand(
  config: OtlpConfig,
  parts: Pick<OtlpParts, 'monitored' | 'clock'> & Partial<Pick<OtlpParts, 'env'>>,
) {
  const logger = createLineLogger();
  const common = { config: { ...testConfig(), otlp: config }, observers: new CallObservers(), env: {} };
  const otlp = new Otlp({ ...common, logger, ...parts });
  otlp.start();
  return { otlp, logger };
}
