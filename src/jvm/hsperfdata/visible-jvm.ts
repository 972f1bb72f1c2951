import type { Collector } from './collectors.ts';

/** A JVM as its counters file and /proc show it. */
export interface VisibleJvm {
  /**
   * In our own pid namespace. Undefined if not visible, e.g. in another container; then the JVM never gets a signal.
   */
  readonly pid?: number | undefined;
  /** In the JVM's own, innermost pid namespace: the number in the names of its files. */
  readonly nspid: number;
  readonly uid: number;
  readonly gid: number;
  /** Field 22 of /proc/<pid>/stat; unique together with the pid. If given, no other process is accepted. */
  readonly startTicks?: number | undefined;
  /** Start time that the JVM reports, in milliseconds since 1970. */
  readonly startedEpochMs?: number | undefined;
  /** Prefix for the JVM's own paths: empty, or e.g. `/proc/812/root`. */
  readonly rootPath: string;
  /**
   * The JVM's /tmp as we reach it, which is HotSpot's folder for its sockets, regardless of java.io.tmpdir.
   */
  readonly tmpPath: string;
  readonly collector?: Collector | undefined;
  readonly jdkMajor?: number | undefined;
  /** As in `FoundJvm`. */
  readonly description: string;
}
