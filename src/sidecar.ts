/**
 * The composition root: makes every part, connects them, and starts and stops them in order. It decides nothing itself, and
 * is the only file that knows every part.
 */
import { AccessControl } from './access/access-control.ts';
import { AccessList } from './access/access-list.ts';
import { type Clock, systemClock } from './clock.ts';
import { readVersion } from './commands/version.ts';
import type { Config, HostPort } from './config/config.ts';
import { Dispatcher } from './dispatch/dispatcher.ts';
import { ExchangeReporter } from './exchange/exchange-reporter.ts';
import { Gateway } from './gateway/gateway.ts';
import { createJvmSource } from './jvm/create-source.ts';
import { JvmMonitor } from './jvm/jvm-monitor.ts';
import type { Logger } from './logger.ts';
import { initMetrics } from './metrics/histogram-pool.ts';
import { Guard } from './monitor/guard.ts';
import { HostCheck } from './monitor/host-check.ts';
import { LoopDelay } from './monitor/loop-delay.ts';
import { Monitor } from './monitor/monitor.ts';
import type { Monitored } from './monitor/monitored.ts';
import { readProcess } from './monitor/process-reading.ts';
import type { CometListener } from './record/comet/comet-listener.ts';
import { createRecorder } from './record/create-recorder.ts';
import type { Recorder } from './record/recorder.ts';
import { WriteBatch } from './relay/write-batch.ts';
import { SidecarTls } from './tls/sidecar-tls.ts';
import { Upstream } from './upstream/upstream.ts';

/** Addresses really bound, as `host:port`, e.g. `127.0.0.1:40123` or `[::1]:9280`. */
export interface BoundAddresses {
  readonly listen: string;
  readonly monitor: string;
}

interface SidecarParts {
  readonly tls: SidecarTls;
  readonly jvm: JvmMonitor | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Hears the Comet messages that are read. */
  readonly listener: CometListener | undefined;
}

/** How often ended sessions and calls without an answer are looked for. */
const SWEEP_MS = 1_000;
/** How often a stopping sidecar looks whether the last client has gone. */
const STOP_POLL_MS = 10;

const NO_JVM = 'The condition of the JVM is not read (jvm.source: none).';

export class Sidecar {
  readonly recorder: Recorder;
  readonly dispatcher: Dispatcher;
  readonly gateway: Gateway;
  readonly reporter: ExchangeReporter;
  /** Who may read on the monitoring port; undefined: everybody. */
  readonly access: AccessList | undefined;
  /** Certificates, keys and handshakes, at the listeners and to the upstream. */
  readonly tls: SidecarTls;
  readonly #config: Config;
  readonly #clock: Clock;
  readonly #upstream: Upstream;
  readonly #accessControl: AccessControl | undefined;
  readonly #loopDelay: LoopDelay;
  readonly #monitor: Monitor;
  readonly #jvm: JvmMonitor | undefined;
  readonly #startedEpochMs: number;
  #isStarted = false;
  #isDraining = false;
  #sweeper: NodeJS.Timeout | undefined;

  /**
   * Makes all parts and opens nothing. Throws `D2S_ERR_CONFIG` for rules, entries or certificates that cannot be used,
   * `D2S_ERR_ACCESS_FILE`, `D2S_ERR_TLS_FILE`.
   */
  static async create(
    config: Config,
    logger: Logger,
    clock: Clock = systemClock,
    listener?: CometListener,
  ): Promise<Sidecar> {
    await initMetrics();
    const { auth } = config.monitor;
    const access = typeof auth === 'object' ? new AccessList(auth) : undefined;
    const tls = await SidecarTls.open(config, { logger, clock });
    const jvm = await createJvmMonitor(config, clock, logger);
    return new Sidecar(config, access, { logger, clock, listener, tls, jvm });
  }

  private constructor(config: Config, access: AccessList | undefined, parts: SidecarParts) {
    const { logger, clock, listener, tls } = parts;
    this.access = access;
    this.tls = tls;
    this.#config = config;
    this.#clock = clock;
    this.#startedEpochMs = clock.epochMs();
    this.recorder = createRecorder(config, clock, listener);
    this.reporter = new ExchangeReporter(clock, this.recorder, logger);
    this.#upstream = new Upstream(config.upstream, clock, tls.upstream);
    this.gateway = createGateway(config, this.reporter, parts);
    this.dispatcher = createDispatcher(config, this.#upstream, this.reporter, this.gateway, parts);
    this.#jvm = parts.jvm;
    this.#accessControl = access && new AccessControl(access, clock);
    this.#loopDelay = new LoopDelay(clock);
    this.#monitor = new Monitor(
      this.#monitored(),
      config.metrics,
      createGuard(config, this.#accessControl),
      logger,
      tls.monitor,
    );
  }

  /** Exchanges begun and not yet ended. */
  get openExchanges(): number {
    return this.reporter.open;
  }

  /** Opens both listeners; the upstream does not have to be there. Throws `D2S_ERR_LISTEN`. */
  async start(): Promise<BoundAddresses> {
    const listen = await this.dispatcher.listen(this.#config.listen);
    try {
      const monitor = await this.#monitor.listen(this.#config.monitor);
      this.#sweeper = setInterval(() => this.recorder.sweep(), SWEEP_MS).unref();
      this.#jvm?.start();
      this.#loopDelay.start();
      this.tls.watch();
      this.#isStarted = true;
      return { listen: toText(listen), monitor: toText(monitor) };
    } catch (cause) {
      this.dispatcher.destroy();
      throw cause;
    }
  }

  /** Readiness off; answers announce the end of their connection; the listeners stay. */
  drain(): void {
    this.#isDraining = true;
    this.dispatcher.drain();
  }

  /** Drains, accepts no more, lets running exchanges end until `stop.deadlineMs`, then ends what is left. */
  async stop(): Promise<void> {
    this.drain();
    this.dispatcher.stopListening();
    const deadlineNs = this.#clock.nowNs() + this.#config.stop.deadlineMs * 1e6;
    // Upgraded connections have no end to wait for.
    while (this.dispatcher.openConnections > this.gateway.upgradedConnections && this.#clock.nowNs() < deadlineNs) {
      await new Promise((resolve) => setTimeout(resolve, STOP_POLL_MS));
    }
    clearInterval(this.#sweeper);
    this.#jvm?.stop();
    this.#loopDelay.stop();
    this.tls.close();
    this.dispatcher.destroy();
    await this.#monitor.close();
    this.recorder.destroy();
  }

  #monitored(): Monitored {
    const sidecar = this;
    return {
      applications: [...this.recorder.applications.values()],
      health: {
        get isStarted() {
          return sidecar.#isStarted;
        },
        isReady: () => this.#isReady(),
      },
      jvm: this.#jvm ?? { state: { kind: 'unavailable', reason: NO_JVM, sinceEpochMs: this.#startedEpochMs } },
      sidecar: {
        version: readVersion(),
        own: this.recorder.own,
        reporter: this.reporter,
        dispatcher: this.dispatcher,
        gateway: this.gateway,
        upstream: this.#upstream,
        access: this.#accessControl,
        loopDelay: this.#loopDelay,
        readProcess,
      },
    };
  }

  async #isReady(): Promise<boolean> {
    if (this.#isDraining || !this.#isStarted) return false;
    return !this.#config.monitor.readyWithUpstream || (await this.#upstream.probe());
  }
}

function createGuard(config: Config, access: AccessControl | undefined): Guard {
  const { host, hosts } = config.monitor;
  return new Guard({ access, hosts: new HostCheck([host, ...hosts]) });
}

function createGateway(config: Config, reporter: ExchangeReporter, { clock, logger, tls }: SidecarParts): Gateway {
  const options = {
    upstreamHost: config.upstream.host,
    upstreamPort: config.upstream.port,
    forwarded: config.forwarded,
    headBytes: config.limits.headBytes,
    headTimeoutMs: config.timeouts.headMs,
    idleTimeoutMs: config.timeouts.idleMs,
    connectTimeoutMs: config.upstream.connectTimeoutMs,
    responseTimeoutMs: config.upstream.responseTimeoutMs,
    halfClosedTimeoutMs: config.timeouts.halfClosedMs,
    upstreamTls: tls.upstream,
  };
  return new Gateway(options, reporter, clock, logger);
}

function createDispatcher(
  config: Config,
  upstream: Upstream,
  reporter: ExchangeReporter,
  gateway: Gateway,
  { clock, logger, tls }: SidecarParts,
): Dispatcher {
  const options = {
    forwarded: config.forwarded,
    headBytes: config.limits.headBytes,
    headTimeoutMs: config.timeouts.headMs,
    idleTimeoutMs: config.timeouts.idleMs,
    halfClosedTimeoutMs: config.timeouts.halfClosedMs,
    responseTimeoutMs: config.upstream.responseTimeoutMs,
  };
  const limits = { dataPath: config.dataPath, maxConnections: config.limits.connections, tls: tls.listen };
  return new Dispatcher(limits, { options, upstream, reporter, writes: new WriteBatch() }, gateway, clock, logger);
}

async function createJvmMonitor(config: Config, clock: Clock, logger: Logger): Promise<JvmMonitor | undefined> {
  const source = await createJvmSource({ config, clock, logger, env: process.env });
  const { intervalMs, timeoutMs, staleAfterMs, http } = config.jvm;
  const isOptional = config.jvm.source === 'auto' && http === undefined;
  return source && new JvmMonitor({ source, intervalMs, timeoutMs, staleAfterMs, isOptional, clock, logger });
}

function toText({ host, port }: HostPort): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
