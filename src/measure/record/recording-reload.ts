/** Options of the recorder that a reload can change. Counters, sessions and names stay as they are. */

import type { Config } from '../../config/config.ts';
import { Classifier, type ClassifierConfig } from '../classify/classifier.ts';
import type { Credentials } from '../sessions/credentials.ts';
import type { CometReader } from './comet/comet-reader.ts';
import { createCometChanges } from './comet/create-comet-reader.ts';
import type { ApplicationStatistics, Recorder } from './recorder.ts';

export type RecorderConfig = ClassifierConfig & Pick<Config, 'comet' | 'metrics' | 'sessions'>;

export interface SessionOptions {
  metrics: Config['metrics'];
}

export interface RecordingParts {
  readonly recorder: Recorder;
  readonly credentials: Credentials;
  readonly applications: ReadonlyMap<string, ApplicationStatistics>;
  readonly comet: CometReader | undefined;
  readonly sessionOptions: SessionOptions;
}

/**
 * Prepares a reload without changing anything; the returned function applies it. `applications`, `metrics.window`,
 * `sessions.cookie` and `comet.enabled` must be unchanged. Throws `D2S_ERR_CONFIG` for an unusable rule.
 */
export function prepareRecording(parts: RecordingParts, config: RecorderConfig): () => void {
  const { recorder, credentials, applications, comet, sessionOptions } = parts;
  const classifier = new Classifier(config);
  const changes = comet && createCometChanges(config);
  return () => {
    recorder.useClassifier(classifier);
    credentials.nameApiKeys(config.sessions.apiKeys);
    sessionOptions.metrics = config.metrics;
    for (const { statistics, sessions } of applications.values()) {
      statistics.limitNames(config.metrics.maxNames);
      sessions.reconfigure(config.sessions);
    }
    if (changes !== undefined) comet?.reconfigure(changes);
  };
}
