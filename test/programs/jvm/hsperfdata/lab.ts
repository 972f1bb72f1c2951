/** A /proc with only those processes, and a /tmp with only those counters files, that a test has shown. */
import { chmodSync, cpSync, linkSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { type Defer, temporaryFolder } from '../../../support/deferred.ts';
import type { Truth } from '../truth/truth.ts';

export class Lab {
  readonly procPath: string;
  readonly tmpPath: string;

  constructor(defer: Defer) {
    const folder = temporaryFolder(defer);
    chmodSync(folder, 0o755);
    this.procPath = join(folder, 'proc');
    this.tmpPath = join(folder, 'tmp');
    mkdirSync(this.tmpPath);
    mkdirSync(join(this.procPath, 'self'), { recursive: true });
    for (const name of ['status', 'stat']) cpSync(`/proc/self/${name}`, join(this.procPath, 'self', name));
    for (const name of ['net', 'locks', 'stat']) symlinkSync(`/proc/${name}`, join(this.procPath, name));
  }

  showProcess({ pid }: Truth): void {
    symlinkSync(`/proc/${pid}`, join(this.procPath, String(pid)));
  }

  hideProcess({ pid }: Truth): void {
    rmSync(join(this.procPath, String(pid)));
  }

  /** A second name for the JVM's own file: the next JVM of that user to start removes the first. */
  showFile({ pid }: Truth): string {
    const folder = `hsperfdata_${userInfo().username}`;
    mkdirSync(join(this.tmpPath, folder), { recursive: true });
    const file = join(this.tmpPath, folder, String(pid));
    linkSync(`/tmp/${folder}/${pid}`, file);
    return file;
  }
}

export async function asUser<T>(uid: number, gid: number, action: () => Promise<T>): Promise<T> {
  const groups = process.getgroups?.() ?? [];
  process.setgroups?.([]);
  process.setegid?.(gid);
  process.seteuid?.(uid);
  try {
    return await action();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
    process.setgroups?.(groups);
  }
}
