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

export class LineLogger implements Logger {
  readonly lines: { readonly level: string; readonly message: string; readonly [detail: string]: unknown }[] = [];
  readonly debug = this.#to('debug');
  readonly info = this.#to('info');
  readonly warn = this.#to('warn');
  readonly error = this.#to('error');

  #to(level: string): Logger['info'] {
    return ((details: object | string, message = '') => {
      this.lines.push(typeof details === 'string' ? { level, message: details } : { level, message, ...details });
    }) as Logger['info'];
  }
}

export type OtlpStand = ReturnType<typeof createStand>;

export function createStand(
  config: OtlpConfig,
  parts: Pick<OtlpParts, 'monitored' | 'clock'> & Partial<Pick<OtlpParts, 'env'>>,
) {
  const logger = new LineLogger();
  const common = { config: { ...testConfig(), otlp: config }, observers: new CallObservers(), env: {} };
  const otlp = new Otlp({ ...common, logger, ...parts });
  otlp.start();
  return { otlp, logger };
}
