/** Creates what finds faults of the server: thread dumps while calls hang, and the verdicts. */
import type { Config } from '../config/config.ts';
import { ThreadDiagnosis } from '../jvm/thread-diagnosis.ts';
import { type VerdictSources, Verdicts } from '../measure/verdict/verdicts.ts';
import { describeInvalidity } from '../tls/own-certificate.ts';
import type { SidecarParts } from './open-parts.ts';

/** Undefined if it is not configured, or no JVM is read. */
export function createDiagnosis(
  { diagnosis: { threads } }: Config,
  { recorder, jvm, clock, logger }: SidecarParts,
): ThreadDiagnosis | undefined {
  const { folder, whenCallRunsMs } = threads;
  if (folder === undefined || whenCallRunsMs === 0 || jvm === undefined) return undefined;
  const applications = [...recorder.applications.values()];
  return new ThreadDiagnosis({
    config: { ...threads, folder },
    dumpThreads: () => jvm.dumpThreads(),
    serverId: () => (jvm.state.kind === 'available' ? jvm.state.server.process.id : undefined),
    oldestCall: () => {
      const calls = applications.flatMap(({ running }) => running.oldest(1));
      const [oldest] = calls.sort((one, other) => other.duration - one.duration);
      return oldest && { kind: oldest.kind, name: oldest.name, seconds: oldest.duration };
    },
    onDump: (fileName, ageNs) => {
      for (const { running } of applications) running.dumped(fileName, ageNs);
    },
    ...{ clock, logger },
  });
}

type OwnSources = Pick<VerdictSources, 'history' | 'lifecycle' | 'upstream' | 'jvm' | 'clientTimeoutMs'>;

export function createVerdicts(
  { recorder, tls, clock }: SidecarParts,
  { diagnosis, ...sources }: OwnSources & { readonly diagnosis: ThreadDiagnosis | undefined },
): Verdicts {
  return new Verdicts(
    {
      ...sources,
      applications: [...recorder.applications.values()],
      unclassified: recorder.unclassified,
      deadlock: () => {
        const last = diagnosis?.last;
        if (last === undefined || last.deadlockedThreads === 0) return undefined;
        return { threads: last.deadlockedThreads, file: last.fileName };
      },
      ownCertificateFault: () => {
        const certificate = tls.listen?.files.material.certificate;
        return certificate && describeInvalidity(certificate, clock.epochMs());
      },
    },
    clock,
  );
}
