/**
 * The composition root: creates every part, connects the parts, and starts and stops them in order. It decides nothing
 * itself. The folder also has the lifecycle, reloads and TLS of the sidecar; it must not know what the bytes of the
 * traffic mean.
 */

import { hostname } from 'node:os';
import type { Readable } from 'node:stream';
import type { Archive } from '../archive/archive.ts';
import type { Summary } from '../archive/compare.ts';
import { BUILD } from '../base/build.ts';
import { type Clock, MS_PER_S, systemClock } from '../base/clock.ts';
import { SidecarError } from '../base/errors.ts';
import type { LeveledLogger, Logger } from '../base/logger.ts';
import { readVersion } from '../base/version.ts';
import type { Config, HostPort } from '../config/config.ts';
import { formatHostPort, type GivenSocket, WILDCARDS } from '../config/host-port.ts';
import type { Alerts } from '../export/alerts/alerts.ts';
import type { Otlp } from '../export/otlp/otlp.ts';
import { JvmSourceError } from '../jvm/jvm-source.ts';
import type { ThreadDiagnosis } from '../jvm/thread-diagnosis.ts';
import { LimitHits } from '../limits/limit-hits.ts';
import type { CometListener } from '../measure/comet/comet-application.ts';
import { History, type HistorySources } from '../measure/history/history.ts';
import { allowanceUsedOf } from '../measure/record/call-targets.ts';
import type { Recorder } from '../measure/record/recorder.ts';
import type { Verdicts } from '../measure/verdict/verdicts.ts';
import { AccessClosed } from '../monitor/access/monitor-access.ts';
import { createGuard, createHostCheck, type HostCheck } from '../monitor/guard.ts';
import { readLiveCounters, renderTop } from '../monitor/live/live-document.ts';
import type { NextTurn } from '../monitor/loop-share.ts';
import { Monitor } from '../monitor/monitor.ts';
import type { Monitored, MonitoredJvm } from '../monitor/monitored.ts';
import { LoopDelay, type ProcessReading, readProcess } from '../monitor/process-reading.ts';
import { createProxyHint } from '../proxy/exchange/client-finder.ts';
import { ExchangeReporter } from '../proxy/exchange/exchange-reporter.ts';
import type { Dispatcher } from '../proxy/listener/dispatcher.ts';
import { OutageRecord, Upstream } from '../proxy/upstream/upstream.ts';
import { UpstreamProbe } from '../proxy/upstream/upstream-probe.ts';
import { createDiagnosis, createVerdicts } from './diagnosis.ts';
import { Lifecycle, type Stoppable } from './lifecycle.ts';
import { createTables, type MetricSources } from './metrics.ts';
import { openParts, type SidecarParts, type SidecarTls } from './open-parts.ts';
import { Reloads } from './reload.ts';
import { createAdmission, createDispatcher, selectDispatcherOptions, selectTrafficOptions } from './traffic.ts';

/** How often the sweeper ends idle sessions and calls without an answer. */
const SWEEP_MS = 1_000;

const NO_ARCHIVE = 'There is no history on disk: history.file is not set, or cannot be used (see the log).';
const NO_ALERTS = 'No receiver of messages is configured (alerts.webhook, alerts.mail).';
const NO_JVM = 'The condition of the JVM is not read (jvm.source: none).';

export class Sidecar {
  readonly recorder: Recorder;
  readonly dispatcher: Dispatcher;
  readonly reporter: ExchangeReporter;
  readonly limits: LimitHits;
  readonly tls: SidecarTls;
  readonly reloads: Reloads;
  readonly lifecycle: Lifecycle;
  readonly history: History;
  readonly verdicts: Verdicts;
  readonly monitored: Monitored;
  readonly #parts: SidecarParts;
  readonly #upstream: Upstream;
  readonly #probe: UpstreamProbe;
  readonly #loopDelay: LoopDelay;
  readonly #monitor: Monitor;
  readonly #monitoredJvm: MonitoredJvm;
  /** Undefined without `otlp.endpoint`; its packages are then not loaded. */
  readonly #otlp: Otlp | undefined;
  readonly #diagnosis: ThreadDiagnosis | undefined;
  #config: Config;
  /** Of the live page, as it is reached on this machine. */
  #pageUrl = '';
  #hosts: HostCheck;
  #sweeper: NodeJS.Timeout | undefined;

  /**
   * Creates all parts and opens no port. Throws if the traffic cannot be served: D2S_ERR_TLS_FILE, or D2S_ERR_CONFIG
   * for unusable rules or certificates. An error of the monitoring port alone is logged, and that port refuses
   * everybody.
   */
  static async create(
    config: Config,
    logger: Logger,
    clock: Clock = systemClock,
    listener?: CometListener,
  ): Promise<Sidecar> {
    return new Sidecar(config, await openParts(config, { logger, clock, listener }));
  }

  private constructor(config: Config, parts: SidecarParts) {
    const { logger, clock, tls, recorder } = parts;
    this.#parts = parts;
    this.tls = tls;
    this.recorder = recorder;
    this.#config = config;
    this.#hosts = createHostCheck([config.monitor.host, ...config.monitor.hosts]);
    this.reloads = new Reloads(clock);
    this.limits = new LimitHits(clock, logger);
    this.reporter = new ExchangeReporter(clock, recorder, logger, {
      hits: this.limits,
      hint: config.listen.trustedProxies.length === 0 ? createProxyHint(logger) : undefined,
      ...createAdmission(config),
    });
    recorder.observers.onFailure = (cause) => this.reporter.observerFailed(cause);
    const { failures } = this.reporter;
    const outages = new OutageRecord(() => failures.total, clock, logger);
    this.#upstream = new Upstream(config.upstream, clock, { tls: tls.upstream, outages });
    this.dispatcher = createDispatcher(config, this.#upstream, this.reporter, parts);
    const noJvm = { kind: 'unavailable', reason: NO_JVM, sinceEpochMs: clock.epochMs() } as const;
    this.#monitoredJvm = parts.jvm ?? { state: noJvm };
    this.#diagnosis = createDiagnosis(config, parts);
    this.#loopDelay = new LoopDelay(clock);
    this.lifecycle = new Lifecycle(this.#stoppable(), { times: () => this.#config.stop, clock, logger });
    this.#probe = new UpstreamProbe({
      upstream: this.#upstream,
      counts: recorder.own,
      isServing: () => this.lifecycle.state === 'serving',
      intervalMs: () => this.#config.upstream.probeMs,
      clock,
    });
    this.history = new History(this.#historySources(), clock);
    parts.archive?.attach(this.history);
    this.verdicts = createVerdicts(parts, {
      ...{ history: this.history, lifecycle: this.lifecycle, upstream: this.#upstream },
      ...{ jvm: this.#monitoredJvm, diagnosis: this.#diagnosis },
      clientTimeoutMs: () => this.#config.calls.clientTimeoutMs,
    });
    parts.alerts?.attach({
      ...{ applications: [...recorder.applications.values()], verdicts: this.verdicts, history: this.history },
      pageUrl: () => this.#pageUrl,
    });
    this.monitored = this.#createMonitored();
    const { monitored } = this;
    const nextTurn = this.#nextTurn;
    const { observers } = recorder;
    this.#otlp = parts.createOtlp?.({ config, monitored, observers, clock, nextTurn, logger, env: process.env });
    const answers = { ...config.metrics, nextTurn };
    const guard = createGuard({
      access: () => {
        const trouble = tls.monitor?.files.trouble;
        return trouble === undefined ? parts.access.current : new AccessClosed(trouble);
      },
      hosts: () => this.#hosts,
    });
    this.#monitor = new Monitor(monitored, answers, guard, logger, {
      tls: tls.monitor,
      limits: config.monitor,
      hits: this.limits,
    });
  }

  /**
   * Opens both listeners, or takes over `sockets`. Returns the addresses really bound, e.g. `127.0.0.1:40123`. The
   * upstream need not be reachable. Throws `D2S_ERR_LISTEN`.
   */
  async start(sockets: readonly GivenSocket[] = []) {
    const given = (wanted: GivenSocket['section']) =>
      sockets.filter(({ section }) => section === wanted).map(({ fd }) => fd);
    const listen = await this.dispatcher.listen(this.#config.listen, given('listen'));
    try {
      const monitor = await this.#monitor.listen(this.#config.monitor, given('monitor')[0]);
      this.#sweeper = setInterval(() => this.reporter.shield(() => this.recorder.sweep()), SWEEP_MS).unref();
      this.#parts.jvm?.start();
      this.#diagnosis?.start();
      this.#loopDelay.start();
      this.history.start((work) => this.reporter.shield(work));
      this.#probe.start();
      this.verdicts.start((work) => this.reporter.shield(work));
      this.#pageUrl = formatPageUrl(monitor, this.#config);
      this.#parts.alerts?.start((work) => this.reporter.shield(work));
      this.tls.watch();
      this.#parts.access.watch();
      this.#parts.state?.start();
      this.#otlp?.start();
      this.lifecycle.started();
      return { listen: formatHostPort(listen), monitor: formatHostPort(monitor) };
    } catch (cause) {
      this.dispatcher.destroy();
      throw cause;
    }
  }

  /** Reopens log files after e.g. logrotate has moved them away. */
  reopenLogs(): void {
    this.#parts.accessLog.reopen();
  }

  /** Reads, and so counts, all Comet traffic that waits to be read. */
  readWaiting(): void {
    this.reporter.shield(() => this.recorder.finish());
  }

  /** The data of `d2-sidecar top`: one line of JSON. */
  top(): string {
    this.monitored.catchUp();
    return renderTop(this.monitored);
  }

  /** Takes a thread dump of the server's JVM. Rejects with a JvmSourceError that has the reason. */
  async dumpThreads(): Promise<string> {
    const { jvm } = this.#parts;
    if (jvm === undefined) throw new JvmSourceError('D2S_ERR_JVM_NOT_FOUND', NO_JVM);
    return await jvm.dumpThreads();
  }

  /** The report for a support ticket: one line of JSON, in slices; see monitor/report/. */
  async report(includesUsers: boolean): Promise<Readable> {
    const { createReport } = await import('../monitor/report/report.ts');
    const { logger, clock } = this.#parts;
    const { recent: log } = logger as Partial<LeveledLogger>;
    const sources = { config: this.#config, monitored: this.monitored, log, clock, nextTurn: this.#nextTurn };
    return await createReport(sources, includesUsers);
  }

  /** Of the last `seconds` of the history on disk, and this month's targets. Throws D2S_ERR_HISTORY_FILE. */
  async summarize(seconds: number): Promise<Summary> {
    const now = this.#parts.clock.epochMs() / MS_PER_S;
    const summary = await this.archive.ask('summarize', now - seconds, now);
    const targets = Array.from(this.recorder.applications.values(), ({ name: application, targets }) =>
      targets.readings.map((target) => {
        const { name, withinMs, share, month } = target;
        return { application, name, withinMs, share, month, allowanceUsed: allowanceUsedOf(target) };
      }),
    );
    return { ...summary, targets: targets.flat(), failure: this.archive.failure };
  }

  /** Throws D2S_ERR_HISTORY_FILE without one. */
  get archive(): Archive {
    const { archive } = this.#parts;
    if (archive === undefined) throw new SidecarError('D2S_ERR_HISTORY_FILE', NO_ARCHIVE);
    return archive;
  }

  /** Throws D2S_ERR_ALERTS without a receiver. */
  get alerts(): Alerts {
    const { alerts } = this.#parts;
    if (alerts === undefined) throw new SidecarError('D2S_ERR_ALERTS', NO_ALERTS);
    return alerts;
  }

  /** Stops without delay and window. Running exchanges may end until `stop.deadlineMs`; the rest is then cut. */
  async stop(): Promise<void> {
    if (this.lifecycle.state === 'starting') {
      await this.#end();
      return;
    }
    this.lifecycle.stop('end of the program', true);
    await this.lifecycle.ended;
  }

  #stoppable(): Stoppable {
    const { dispatcher, reporter, recorder } = this;
    const { webSockets } = dispatcher;
    return {
      inProgress: () => ({
        exchanges: reporter.open,
        heldPolls: recorder.own.comet.holds.now,
        webSockets: webSockets.open,
        connections: dispatcher.openConnections - webSockets.open,
      }),
      outlivesProcess: () => dispatcher.outlivesProcess,
      announceEnd: () => dispatcher.drain(),
      closeWebSockets: (overMs) => webSockets.closeTunnels(overMs),
      stopListening: () => dispatcher.stopListening(),
      closeIdle: (quietMs) => dispatcher.closeIdle(quietMs),
      end: () => this.#end(),
    };
  }

  /** Flushes this turn's writes before long work, which would otherwise run before them. */
  readonly #nextTurn: NextTurn = (run) => {
    setImmediate(() => {
      this.dispatcher.services.writes.flush();
      run();
    });
  };

  async #end(): Promise<void> {
    clearInterval(this.#sweeper);
    this.#parts.jvm?.stop();
    this.#diagnosis?.stop();
    this.#loopDelay.stop();
    this.history.stop();
    this.#probe.stop();
    this.verdicts.stop();
    await this.#parts.alerts?.stop();
    this.tls.close();
    this.#parts.access.close();
    this.dispatcher.destroy();
    await this.#monitor.close();
    this.readWaiting();
    await this.#parts.state?.stop();
    this.history.end();
    await this.#parts.archive?.close();
    await this.#parts.accessLog.close();
    await this.#otlp?.stop(this.lifecycle.leftMs ?? 0);
  }

  /**
   * Prepares everything that a new configuration needs, its files included, and changes nothing. The returned function
   * applies it all at once, touches no connection and no counter, and cannot fail. Throws like `create`.
   */
  async prepareReload(config: Config): Promise<() => void> {
    const applies = [
      this.recorder.prepareReload(config),
      await this.#parts.access.prepareReload(config.monitor.auth),
      await this.tls.prepareReload(config),
      await this.#parts.accessLog.prepareReload(config.accessLog),
    ];
    return () => {
      for (const apply of applies) apply();
      this.#config = config;
      this.#hosts = createHostCheck([config.monitor.host, ...config.monitor.hosts]);
      this.recorder.memory.maxBytes = config.limits.memoryBytes;
      this.reporter.reconfigure(createAdmission(config));
      this.#upstream.connectTimeoutMs = config.upstream.connectTimeoutMs;
      this.dispatcher.reconfigure(selectDispatcherOptions(config), selectTrafficOptions(config));
      this.#monitor.reconfigure(config.monitor);
    };
  }

  #createMonitored(): Monitored {
    const { recorder, reporter, limits, lifecycle, dispatcher, verdicts, history } = this;
    return {
      catchUp: () => reporter.shield(() => recorder.catchUp()),
      applications: [...recorder.applications.values()],
      health: {
        get isStarted() {
          return lifecycle.state !== 'starting';
        },
        isReady: () => this.isReady(),
      },
      jvm: this.#monitoredJvm,
      verdicts,
      sidecar: {
        version: readVersion(),
        build: BUILD,
        isRestored: this.#parts.state?.restored === 'restored',
        own: recorder.own,
        ...{ reporter, limits, lifecycle, dispatcher, upstream: this.#upstream, readProcess },
      },
      createTables: (process) => createTables(this.metricSources(process)),
      live: {
        clock: this.#parts.clock,
        history,
        archive: () => this.archive,
        archiveState: this.#parts.archive,
        alerts: this.#parts.alerts,
        sessionsOf: (name) => recorder.applications.get(name)?.sessions.sessions() ?? [],
        unclassified: recorder.unclassified,
        clientTimeoutMs: () => this.#config.calls.clientTimeoutMs,
        diagnosed: () => this.#diagnosis?.last,
        certificates: this.tls.certificates,
        probe: () => this.#upstream.probe(),
      },
    };
  }

  metricSources(process: ProcessReading): MetricSources {
    const { recorder, reporter, dispatcher, lifecycle, limits, history, verdicts, reloads, tls } = this;
    const { access, accessLog, alerts, archive, jvm, state, logger } = this.#parts;
    const available = jvm?.state.kind === 'available' ? jvm.state : undefined;
    const sections = { 'listen.tls': tls.listen, 'monitor.tls': tls.monitor, 'upstream.tls': tls.upstream };
    return {
      ...{ reporter, dispatcher, lifecycle, limits, history, verdicts, reloads, state, process, archive, alerts },
      applications: [...recorder.applications.values()],
      own: recorder.own,
      comet: recorder.own.comet,
      jvm: available?.reading,
      server: available?.server,
      upstream: this.#upstream,
      proxyHeaders: dispatcher.proxyHeaders,
      webSockets: dispatcher.webSockets,
      memory: recorder.memory,
      log: logger as Partial<LeveledLogger>,
      monitor: this.#monitor.connections,
      access: access.counts,
      handshakes: { listen: tls.listen, monitor: tls.monitor },
      upstreamTls: tls.upstream,
      certificates: sections,
      files: { ...sections, 'monitor.auth': access },
      otlp: this.#otlp,
      accessLog: accessLog.numbers,
      jvmSource: jvm,
      diagnosis: this.#diagnosis,
      version: this.monitored.sidecar.version,
      loop: this.#loopDelay,
    };
  }

  #historySources(): HistorySources {
    const { limits, reporter, dispatcher, lifecycle, reloads, recorder } = this;
    const { own, unclassified } = recorder;
    const applications = [...recorder.applications.values()];
    const sidecar = { own, limits, reporter, dispatcher };
    return {
      ...{ applications, own, lifecycle, reloads, upstream: this.#upstream },
      counters: () => readLiveCounters({ sidecar, applications, unclassified }),
      jvm: this.#monitoredJvm,
      isRestored: this.#parts.state?.restored === 'restored',
      earlier: this.#parts.archive?.earlier,
    };
  }

  /** The answer of `/readyz`. */
  async isReady(): Promise<boolean> {
    if (this.lifecycle.state !== 'serving') return false;
    return !this.#config.monitor.readyWithUpstream || (await this.#upstream.probe());
  }
}

/** With the name of this machine if the port is open on all its addresses. */
function formatPageUrl(bound: HostPort, { monitor }: Config): string {
  const host = WILDCARDS.has(bound.host) ? hostname() : bound.host;
  return `${monitor.tls === undefined ? 'http' : 'https'}://${formatHostPort({ ...bound, host })}/`;
}
