/** Creates the diagnosis of hung calls from the configuration. */
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Config } from '../config/config.ts';
import type { JvmMonitor } from '../jvm/jvm-monitor.ts';
import { type HungCall, ThreadDiagnosis } from '../jvm/thread-diagnosis.ts';
import type { Recorder } from '../measure/record/recorder.ts';

interface DiagnosisParts {
  readonly recorder: Recorder;
  readonly jvm: JvmMonitor | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Undefined if it is not configured, or no JVM is read. */
export function createDiagnosis(
  { diagnosis: { threads } }: Config,
  { recorder, jvm, clock, logger }: DiagnosisParts,
): ThreadDiagnosis | undefined {
  const { folder, whenCallRunsMs } = threads;
  if (folder === undefined || whenCallRunsMs === 0 || jvm === undefined) return undefined;
  const applications = [...recorder.applications.values()];
  return new ThreadDiagnosis({
    config: { ...threads, folder },
    dumpThreads: () => jvm.dumpThreads(),
    serverId: () => (jvm.state.kind === 'available' ? jvm.state.server.process.id : undefined),
    oldestCall: () => {
      const oldest = applications
        .flatMap(({ running }) => running.oldest(1))
        .sort((a, b) => b.duration - a.duration)[0];
      return oldest && ({ kind: oldest.kind, name: oldest.name, seconds: oldest.duration } satisfies HungCall);
    },
    onDump: (fileName, ageNs) => {
      for (const { running } of applications) running.dumped(fileName, ageNs);
    },
    clock,
    logger,
  });
}
