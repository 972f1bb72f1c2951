/** Gives the verdicts their sources. */
import type { Clock } from '../base/clock.ts';
import type { Config } from '../config/config.ts';
import type { ThreadDiagnosis } from '../jvm/thread-diagnosis.ts';
import type { History } from '../measure/history/history.ts';
import type { Recorder } from '../measure/record/recorder.ts';
import { type VerdictSources, Verdicts } from '../measure/verdict/verdicts.ts';
import { describeInvalidity } from '../tls/own-certificate.ts';
import type { SidecarTls } from './sidecar-tls.ts';

interface VerdictParts extends Pick<VerdictSources, 'lifecycle' | 'upstream'> {
  readonly recorder: Recorder;
  readonly history: History;
  readonly tls: SidecarTls;
  readonly clock: Clock;
}

interface VerdictInputs extends Pick<VerdictSources, 'jvm'> {
  readonly diagnosis: ThreadDiagnosis | undefined;
  /** A reload may change it. */
  readonly calls: () => Config['calls'];
}

export function createVerdicts(
  { recorder, history, lifecycle, upstream, tls, clock }: VerdictParts,
  { jvm, diagnosis, calls }: VerdictInputs,
): Verdicts {
  const { outside, unclassified } = recorder;
  const sources: VerdictSources = {
    ...{ applications: [...recorder.applications.values()], history, lifecycle, upstream, jvm, outside, unclassified },
    deadlock: () => {
      const last = diagnosis?.last;
      if (last === undefined || last.deadlockedThreads === 0) return undefined;
      return { threads: last.deadlockedThreads, file: last.fileName };
    },
    ownCertificateFault: () => {
      const certificate = tls.listen?.files.certificate;
      return certificate && describeInvalidity(certificate, clock.epochMs());
    },
    clientTimeoutMs: () => calls().clientTimeoutMs,
  };
  return new Verdicts(sources, clock);
}
