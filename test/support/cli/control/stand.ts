import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, beforeEach } from 'vitest';
import { SidecarError } from '../../../../src/base/errors.ts';
import type { Logger } from '../../../../src/base/logger.ts';
import {
  type Controllable,
  type ControlServer,
  openControlServer,
} from '../../../../src/cli/control/control-server.ts';
import type { ControlStatus, ReloadAnswer } from '../../../../src/cli/control/protocol.ts';
import type { Output } from '../../../../src/cli/output.ts';
import type { Alerts } from '../../../../src/export/alerts/alerts.ts';
import { deferTo } from '../../deferred.ts';
import { useFolder } from '../../export/access-log/folder.ts';

export class NotingTarget implements Controllable {
  readonly sidecar = this;
  readonly told: string[] = [];
  openExchanges = 0;
  openWebSockets = 0;
  reloadAnswer: ReloadAnswer = { kind: 'applied', changed: [], waiting: [] };
  readonly #pid: number;
  /** Called at each request for the status, so that a test can follow a waiting client. */
  onStatus: () => void = () => {};

  constructor(pid = 4711) {
    this.#pid = pid;
  }

  status(): ControlStatus {
    this.onStatus();
    return {
      pid: this.#pid,
      listen: `127.0.0.1:${this.#pid}`,
      monitor: '127.0.0.1:9280',
      state: this.told.includes('drain') ? 'draining' : 'serving',
      openExchanges: this.openExchanges,
      openWebSockets: this.openWebSockets,
      stopDeadlineMs: 0,
    };
  }

  isReady(): Promise<boolean> {
    return Promise.resolve(!this.told.includes('drain'));
  }

  report = (_includesUsers: boolean): Promise<Readable> => Promise.resolve(Readable.from(['{}\n']));

  dumpThreads(): Promise<string> {
    return Promise.resolve('');
  }

  top(): string {
    return '{}\n';
  }

  readonly history = undefined as never;

  summarize(): Promise<never> {
    return Promise.reject(new SidecarError('D2S_ERR_HISTORY_FILE', 'there is no history'));
  }

  get archive(): never {
    throw new SidecarError('D2S_ERR_HISTORY_FILE', 'there is no history');
  }

  /** Receivers that `alerts test` finds. */
  alertTests: Awaited<ReturnType<Alerts['test']>> | undefined;

  get alerts() {
    const { alertTests, told } = this;
    if (alertTests === undefined) throw new SidecarError('D2S_ERR_ALERTS', 'no receiver is configured');
    return {
      test: () => Promise.resolve(alertTests),
      silence: (ms: number, text: string) => Promise.resolve(void told.push(`silence ${ms} ${text}`)),
    } as never;
  }

  drain(): void {
    this.told.push('drain');
  }

  reload(): Promise<ReloadAnswer> {
    this.told.push('reload');
    return Promise.resolve(this.reloadAnswer);
  }

  shutdown(): void {
    this.told.push('shutdown');
  }
}

/** Records log lines, e.g. `warn no control socket`. */
export class NotingLogger {
  readonly lines: string[] = [];
  readonly logger = { debug: () => {}, info: this.#to('info'), warn: this.#to('warn'), error: this.#to('error') };

  #to(level: string): Logger['info'] {
    return (_: unknown, message = '') => void this.lines.push(`${level} ${message}`);
  }
}

export class Printed implements Output {
  stdout = '';
  stderr = '';
  readonly out = (text: string): void => {
    this.stdout += text;
  };
  readonly err = (text: string): void => {
    this.stderr += text;
  };
}

/** For each test a private folder and the control servers in it. */
export class ControlStand {
  readonly at = useFolder();
  readonly #defer = deferTo(afterEach);
  log = new NotingLogger();

  constructor() {
    beforeEach(() => {
      this.log = new NotingLogger();
    });
  }

  get folder(): string {
    return this.at('');
  }

  async open(
    name: string,
    target: Controllable = new NotingTarget(),
    requestTimeoutMs?: number,
    answerTimeoutMs?: number,
  ): Promise<ControlServer> {
    const server = await openControlServer(this.at(name), target, this.log.logger, requestTimeoutMs, answerTimeoutMs);
    this.#defer(() => server.destroy());
    return server;
  }

  /** A server that is not a sidecar: it answers the first bytes with `text`. */
  async openOther(name: string, text: string): Promise<string> {
    const server = net.createServer((socket) => {
      socket.on('error', () => undefined).once('data', () => socket.end(text));
    });
    await once(server.listen(this.at(name)), 'listening');
    this.#defer(() => server.close());
    return this.at(name);
  }

  /** What Node leaves behind when a process is killed: socket files without a listener. */
  leaveStale(...names: readonly string[]): void {
    const code = `for (const path of process.argv.slice(1)) require('net').createServer().listen(path);
      setImmediate(() => process.kill(process.pid, 'SIGKILL'))`;
    spawnSync(process.execPath, ['-e', code, ...names.map((name) => this.at(name))]);
  }
}
