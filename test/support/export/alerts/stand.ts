/** Messages with a clock that the test moves, and receivers that it makes fail. */
import { SILENT } from '../../../../src/base/logger.ts';
import { buildConfig } from '../../../../src/config/config.ts';
import { configSchema } from '../../../../src/config/schema.ts';
import { Alerts } from '../../../../src/export/alerts/alerts.ts';
import type { AlertMessage } from '../../../../src/export/alerts/message.ts';
import { type Channel, SendError } from '../../../../src/export/alerts/outbox.ts';
import type { EndedMinute } from '../../../../src/measure/history/application-history.ts';
import type { SlowEntry } from '../../../../src/measure/record/running-calls.ts';
import type { Evidence } from '../../../../src/measure/verdict/evidence.ts';
import { ApplicationVerdict } from '../../../../src/measure/verdict/verdicts.ts';
import { ManualClock } from '../../clock.ts';
import { evidence, HUNG, minute } from '../../measure/verdict-evidence.ts';

export function alertsConfig(alerts: object = {}) {
  return buildConfig(configSchema.parse({ upstream: { url: 'http://127.0.0.1:8080/smartWeb' }, alerts })).alerts;
}

/** A receiver that keeps what it got. */
export class NotingChannel implements Channel {
  readonly name = 'webhook';
  readonly got: AlertMessage[] = [];
  tries = 0;
  /** Thrown instead of taking a message. */
  failure: Error | undefined;

  send = async (message: AlertMessage): Promise<string> => {
    this.tries += 1;
    if (this.failure !== undefined) throw this.failure;
    this.got.push(message);
    return '200';
  };

  verify = () => Promise.resolve('200');

  /** E.g. `['begins calls-fail', 'ends calls-fail']`. */
  get events(): readonly string[] {
    return this.got.map(({ event, code }) => `${event} ${code}`);
  }
}

export const DOWN = new SendError('the receiver refused the connection (ECONNREFUSED)');

interface StandOptions {
  readonly alerts?: object;
  readonly file?: string;
  readonly clock?: ManualClock;
  readonly channel?: NotingChannel;
  /** Real ones, instead. */
  readonly channels?: readonly Channel[];
  readonly slowest?: readonly SlowEntry[];
}

/** One application, smartWeb, whose evidence the test sets. */
export async function openAlerts({ alerts = {}, file, slowest = [], ...given }: StandOptions = {}) {
  const { clock = new ManualClock(), channel = new NotingChannel(), channels = [channel] } = given;
  const verdict = new ApplicationVerdict(clock);
  const onMinutes: ((minutes: readonly EndedMinute[]) => void)[] = [];
  let now: readonly Partial<Evidence>[] = [];
  const judge = () => verdict.judge(evidence(...now));
  judge();
  const opened = await Alerts.open({ config: alertsConfig(alerts), file, clock, logger: SILENT, channels });
  opened.attach({
    applications: [{ name: 'smartWeb', slowest: { slowestSince: () => slowest } }],
    verdicts: { all: () => [['smartWeb', judge()] as const].values() as never, of: judge },
    history: { mark: (kind, text) => ({ kind, text, epochMs: clock.epochMs() }), onMinutes },
    pageUrl: () => 'http://127.0.0.1:9280/',
  });
  /** Seconds pass, one check in each. */
  const pass = async (seconds: number, ...parts: readonly Partial<Evidence>[]) => {
    now = parts;
    for (let second = 0; second < seconds; second += 1) {
      clock.advanceS(1);
      opened.check();
      await opened.settled();
    }
  };
  const endMinute = (minute: EndedMinute) => {
    for (const listener of onMinutes) listener([minute]);
  };
  return { alerts: opened, channel, clock, pass, endMinute };
}

type Pass = Awaited<ReturnType<typeof openAlerts>>['pass'];

/** Four findings take turns for ten minutes: 50 begin, and 50 end. */
export async function playChanges(pass: Pass): Promise<void> {
  const turns = [minute({ ok: 10, errors: 10 }), { hung: HUNG }, { collectorShare: 0.5 }, minute({ ok: 10, late: 10 })];
  for (let at = 0; at < 50; at += 1) await pass(12, turns[at % turns.length] ?? {});
}
