import { AddressRanges } from '../../../src/base/address.ts';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { createLogger } from '../../../src/base/logger.ts';
import type { Config } from '../../../src/config/config.ts';
import { MemoryBudget } from '../../../src/limits/memory-budget.ts';
import { RequestMemory } from '../../../src/limits/request-memory.ts';
import { StalledWrites } from '../../../src/limits/stalled-writes.ts';
import { replacedFields } from '../../../src/protocol/http1/forwarded.ts';
import type { ExchangeObserver } from '../../../src/proxy/exchange/exchange.ts';
import { ExchangeReporter } from '../../../src/proxy/exchange/exchange-reporter.ts';
import { Gateway } from '../../../src/proxy/gateway/gateway.ts';
import type { GatewayOptions } from '../../../src/proxy/gateway/services.ts';
import { Dispatcher } from '../../../src/proxy/listener/dispatcher.ts';
import { SilenceWatch } from '../../../src/proxy/relay/silence-watch.ts';
import { WriteBatch } from '../../../src/proxy/relay/write-batch.ts';
import { ReadBuffers } from '../../../src/proxy/upstream/read-buffer.ts';
import { Upstream } from '../../../src/proxy/upstream/upstream.ts';
import { turns } from './split-writer.ts';

const HEAD_BYTES = 65_536;
const HOUR_MS = 3_600_000;

export interface PlaneOptions {
  readonly dataPath: Config['dataPath'];
  readonly upstreamPort: number;
  /** Default `append`. */
  readonly forwarded?: Config['forwarded'];
  /** In place of limits that no test meets by accident. */
  readonly limits?: Partial<GatewayOptions> | undefined;
}

/** Both data paths with an observer of the test instead of the recorder. */
export class ObservedPlane {
  readonly reporter: ExchangeReporter;
  readonly gateway: Gateway;
  readonly #dispatcher: Dispatcher;
  #port = 0;

  private constructor(options: PlaneOptions, observer: ExchangeObserver, clock: Clock) {
    const { dataPath, upstreamPort: port, limits: own } = options;
    const forwarded = own?.forwarded ?? options.forwarded ?? 'append';
    const memory = own?.memory ?? new RequestMemory(new MemoryBudget());
    const logger = createLogger('silent');
    this.reporter = new ExchangeReporter(clock, observer, logger);
    const limits = {
      forwarded,
      clientCertificate: 'off' as const,
      replacedFields: replacedFields(forwarded, 'off'),
      headBytes: HEAD_BYTES,
      maxFields: 1_000,
      headTimeoutMs: 10_000,
      idleTimeoutMs: HOUR_MS,
      halfClosedTimeoutMs: 10_000,
      responseTimeoutMs: 0,
      ...own,
    };
    const host = '127.0.0.1';
    const upstream = new Upstream({ host, port, connectTimeoutMs: 5_000 }, systemClock);
    const stalled = new StalledWrites(memory.budget, clock);
    this.gateway = new Gateway(
      { ...limits, memory, stalled, upstreamHost: host, upstreamPort: port, connectTimeoutMs: 5_000 },
      this.reporter,
      clock,
      logger,
    );
    const services = {
      options: limits,
      upstream,
      reporter: this.reporter,
      writes: new WriteBatch(),
      silence: new SilenceWatch(),
      buffers: new ReadBuffers(),
      memory,
      stalled,
    };
    this.#dispatcher = new Dispatcher(
      {
        ...{ dataPath, maxConnections: 10_000, maxConnectionsPerAddress: 0 },
        ...{ trustedProxies: new AddressRanges([]), hasProxyHeaders: false },
      },
      services,
      this.gateway,
      systemClock,
      logger,
    );
  }

  /** `clock`: measures exchanges, and the gateway's times. */
  static async start(
    options: PlaneOptions,
    observer: ExchangeObserver,
    clock: Clock = systemClock,
  ): Promise<ObservedPlane> {
    const plane = new ObservedPlane(options, observer, clock);
    plane.#port = (await plane.#dispatcher.listen({ host: '127.0.0.1', port: 0 })).port;
    return plane;
  }

  get port(): number {
    return this.#port;
  }

  /** Waits until no connection is open: then every exchange and tunnel has ended. */
  async allClosed(): Promise<void> {
    while (this.#dispatcher.openConnections > 0) await turns(1);
    // The upstream's end of a tunnel may close a moment later.
    await turns(3);
  }

  close(): void {
    this.#dispatcher.destroy();
  }
}
