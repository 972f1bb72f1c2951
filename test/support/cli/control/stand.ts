import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Logger } from '../../../../src/base/logger.ts';
import { ControlServer, type ControlTarget } from '../../../../src/cli/control/control-server.ts';
import type { ControlStatus, ReloadAnswer } from '../../../../src/cli/control/protocol.ts';

/** A target that notes what it was told. */
export class NotingTarget implements ControlTarget {
  readonly told: string[] = [];
  openExchanges = 0;
  openWebSockets = 0;
  reloadAnswer: ReloadAnswer = { kind: 'applied', changed: [], waiting: [] };
  readonly #pid: number;
  /** Called on each look at the status, which is how a test follows a waiting client. */
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
      isDraining: this.told.includes('drain'),
      openExchanges: this.openExchanges,
      openWebSockets: this.openWebSockets,
      stopDeadlineMs: 0,
    };
  }

  isReady(): Promise<boolean> {
    return Promise.resolve(!this.told.includes('drain'));
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

/** Keeps what is logged as `[level, message]`. */
export class NotingLogger {
  readonly lines: string[] = [];
  readonly logger = {
    debug: () => {},
    info: (_: object, message: string) => this.lines.push(`info ${message}`),
    warn: (_: object, message: string) => this.lines.push(`warn ${message}`),
    error: (_: object, message: string) => this.lines.push(`error ${message}`),
  } as unknown as Logger;
}

/** A private folder and the servers in it; all of it goes with `dispose`. */
export class ControlStand {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'd2s-test-'));
  readonly log = new NotingLogger();
  readonly #servers: ControlServer[] = [];

  at(name: string): string {
    return path.join(this.folder, name);
  }

  async open(name: string, target: ControlTarget = new NotingTarget(), idleTimeoutMs?: number): Promise<ControlServer> {
    const server = await ControlServer.open(this.at(name), target, this.log.logger, idleTimeoutMs);
    this.#servers.push(server);
    return server;
  }

  dispose(): void {
    for (const server of this.#servers) server.destroy();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
