/**
 * Sends a message when a verdict or a rule of `alerts.rules` begins and ends: by webhook, mail or both. docs/alerts.md
 * describes the messages. The folder is loaded only if a receiver is configured. It changes nothing in the traffic.
 */
import { type Clock, formatIso } from '../../base/clock.ts';
import { describeErrno } from '../../base/errors.ts';
import { formatDuration } from '../../base/figures.ts';
import type { Logger } from '../../base/logger.ts';
import { randomId } from '../../base/random-id.ts';
import { describeFileError } from '../../base/trusted-file.ts';
import type { Config } from '../../config/config.ts';
import type { History } from '../../measure/history/history.ts';
import type { Mark } from '../../measure/history/marks.ts';
import type { SlowestCalls } from '../../measure/record/running-calls.ts';
import { type Verdict, type Verdicts, withConfirmedNames } from '../../measure/verdict/verdicts.ts';
import { readAlertsFile, type SavedAlerts, writeAlertsFile } from './alerts-file.ts';
import { Episodes, type FoundNow } from './episodes.ts';
import { ALERT_SUBJECTS, type AlertMessage, type Finding, linkTo } from './message.ts';
import { type Channel, Outbox, SendError } from './outbox.ts';
import { Thresholds } from './thresholds.ts';
import { createWebhook } from './webhook.ts';

const CHECK_MS = 1_000;
/** Of a test message, by which the caller waits. */
const TEST_MS = 20_000;
const CODE = 'D2S_ERR_ALERTS';

export interface AlertSources {
  readonly applications: readonly { readonly name: string; readonly slowest: Pick<SlowestCalls, 'slowestSince'> }[];
  readonly verdicts: Pick<Verdicts, 'all' | 'of'>;
  readonly history: Pick<History, 'mark' | 'onMinutes'>;
  /** Address of the live page, with a slash at its end, if `alerts.pageUrl` is absent. */
  readonly pageUrl: () => string;
}

export interface AlertsOptions {
  readonly config: Config['alerts'];
  /** Keeps messages and episodes over a restart; undefined: in memory only. */
  readonly file: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default: those of the configuration. */
  readonly channels?: readonly Channel[];
}

export class Alerts {
  readonly outboxes: readonly Outbox[];
  readonly episodes: Episodes;
  readonly #options: AlertsOptions;
  readonly #thresholds: Thresholds;
  #sources: AlertSources | undefined;
  #timer: NodeJS.Timeout | undefined;
  #saving: Promise<void> = Promise.resolve();
  #telling: Promise<void> = Promise.resolve();
  #isFileFailing = false;
  #silenceMark: Mark | undefined;

  /** Never rejects: a file that cannot be used is logged, and messages begin anew. */
  static async open(options: AlertsOptions): Promise<Alerts> {
    const { file, logger } = options;
    const saved =
      file === undefined
        ? undefined
        : await readAlertsFile(file).catch((error: unknown) => {
            const details = { code: CODE, file, reason: describeFileError(error) };
            logger.warn(
              details,
              'the file of messages cannot be used: what was sent before the restart may be sent again',
            );
            return undefined;
          });
    const channels = options.channels ?? (await createChannels(options.config, logger));
    return new Alerts(options, channels, saved);
  }

  private constructor(options: AlertsOptions, channels: readonly Channel[], saved: SavedAlerts | undefined) {
    this.#options = options;
    const { config, clock } = options;
    const texts = {
      evidenceOf: (finding: Finding) => this.#evidenceOf(finding),
      describeNow: (application: string) => this.#describeNow(application),
      linkTo: (finding: Finding) =>
        linkTo(config.pageUrl?.replace(/\/*$/, '/') ?? this.#sources?.pageUrl() ?? '', finding),
    };
    this.episodes = new Episodes(config.maxPerHour, texts, clock, saved);
    const ofRules = saved?.episodes.filter(({ code }) => code === 'threshold') ?? [];
    this.#thresholds = new Thresholds(config.rules, ofRules);
    this.outboxes = channels.map(
      (channel) => new Outbox(channel, saved?.waiting[channel.name] ?? [], options, () => this.#save()),
    );
  }

  attach(sources: AlertSources): void {
    this.#sources = sources;
    if (this.#options.config.rules.length > 0)
      sources.history.onMinutes.push((minutes) => this.#thresholds.judge(minutes));
  }

  /** `shield` runs each turn and handles what it throws. */
  start(shield: (work: () => void) => void): void {
    this.#timer = setInterval(() => shield(() => this.check()), CHECK_MS).unref();
  }

  /** Messages that wait are sent after the restart. Never rejects. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#telling;
    await Promise.all(this.outboxes.map((outbox) => outbox.stop()));
    await this.#save();
  }

  check(): void {
    const verdicts = new Map(this.#sources?.verdicts.all() ?? []);
    const isPaused = (application: string) => verdicts.get(application)?.code === 'draining';
    const found = [...verdicts].flatMap(([application, verdict]) => selectFinding(application, verdict) ?? []);
    const ofRules = this.#thresholds.findings.map((finding) => ({
      ...finding,
      sinceEpochMs: this.#options.clock.epochMs(),
    }));
    const due = this.episodes.check([...found, ...ofRules], isPaused);
    for (const message of due) for (const outbox of this.outboxes) outbox.add(message);
    // Saved first: after a crash the same message has the same id.
    if (due.length > 0) this.#telling = this.#save().then(() => this.#tick());
    else this.#tick();
  }

  /** Resolves when nothing is being saved or sent. */
  async settled(): Promise<void> {
    await this.#telling;
    await Promise.all(this.outboxes.map((outbox) => outbox.settled()));
  }

  /** Sends one message now, beside those that wait. `text`: the receiver's answer, or why it has none. Never rejects. */
  async test() {
    const { clock, config } = this.#options;
    const [application = ''] = this.#sources?.applications.map(({ name }) => name) ?? [];
    const message: AlertMessage = {
      ...{ id: randomId(), event: 'test', application, subject: 'sidecar', code: 'test', name: null },
      text: 'This is a test by d2-sidecar alerts test. Nothing is wrong.',
      ...{ since: formatIso(clock.epochMs()), until: null, url: config.pageUrl ?? this.#sources?.pageUrl() ?? '' },
    };
    return await Promise.all(
      this.outboxes.map(async ({ channel }) => {
        const { name } = channel;
        try {
          const text = await channel.send(message, AbortSignal.timeout(TEST_MS));
          return { channel: name, isSent: true, text };
        } catch (error) {
          return { channel: name, isSent: false, text: error instanceof SendError ? error.message : 'a fault' };
        }
      }),
    );
  }

  /** 0 ends the silence. */
  async silence(ms: number, text: string): Promise<void> {
    const { clock } = this.#options;
    const untilEpochMs = clock.epochMs() + ms;
    if (this.#silenceMark !== undefined)
      this.#silenceMark.endEpochMs = Math.min(clock.epochMs(), this.#silenceMark.endEpochMs ?? 0);
    this.#silenceMark = undefined;
    this.episodes.silence = ms === 0 ? null : { untilEpochMs, text };
    if (ms > 0) {
      this.#silenceMark = this.#sources?.history.mark('note', `No messages are sent${text === '' ? '' : `: ${text}`}.`);
      if (this.#silenceMark !== undefined) this.#silenceMark.endEpochMs = untilEpochMs;
    }
    await this.#save();
  }

  /** For the live page. */
  get state() {
    const { silence, isSilent } = this.episodes;
    return {
      silence: isSilent && silence !== null ? { until: formatIso(silence.untilEpochMs), text: silence.text } : null,
      channels: this.outboxes.map(({ channel, waiting, failure }) => ({
        channel: channel.name,
        waiting: waiting.length,
        failure: failure === undefined ? null : { reason: failure.reason, since: formatIso(failure.sinceEpochMs) },
      })),
    };
  }

  #tick(): void {
    for (const outbox of this.outboxes) outbox.tick();
  }

  #describeNow(application: string): string {
    const { verdicts } = this.#sources ?? {};
    return verdicts === undefined ? '' : withConfirmedNames(verdicts.of(application)).text;
  }

  /** The slowest answered call of the last minute, for findings that calls show. */
  #evidenceOf({ application, code }: Finding): string {
    if (!ABOUT_CALLS.has(code)) return '';
    const found = this.#sources?.applications.find(({ name }) => name === application);
    const isAnswered = ({ outcome }: { readonly outcome: string }) => outcome === 'ok' || outcome === 'error';
    const call = found?.slowest.slowestSince(60).find(isAnswered);
    if (call === undefined) return '';
    const { kind, name, duration, clientWait, userName } = call;
    const user = this.#options.config.users && userName !== null ? `, of the user ${userName}` : '';
    return `Slowest call of the last minute: ${kind} ${name}${user}: ${formatDuration(duration)} for the server, ${formatDuration(clientWait)} for its client.`;
  }

  /** One save at a time; a call during a save waits for one more. Never rejects. */
  #save(): Promise<void> {
    const { file } = this.#options;
    if (file === undefined) return Promise.resolve();
    this.#saving = this.#saving.then(() => this.#write(file));
    return this.#saving;
  }

  async #write(file: string): Promise<void> {
    const { logger } = this.#options;
    const waiting = Object.fromEntries(this.outboxes.map(({ channel, waiting }) => [channel.name, [...waiting]]));
    try {
      await writeAlertsFile(file, { ...this.episodes.save(), waiting });
      this.#isFileFailing = false;
    } catch (error) {
      const reason = error instanceof Error && 'code' in error ? describeFileError(error) : describeErrno(error);
      if (!this.#isFileFailing)
        logger.warn(
          { code: CODE, file, reason },
          'the file of messages cannot be written: after a restart some may be sent again',
        );
      this.#isFileFailing = true;
    }
  }
}

/** Loads the package for mail only if it is needed. */
export async function createChannels({ webhook, mail }: Config['alerts'], logger: Logger): Promise<readonly Channel[]> {
  const hook = createWebhook(webhook, logger);
  const post = mail.smtp === undefined ? undefined : (await import('./mail.ts')).createMail(mail, logger);
  return [hook, post].flatMap((channel) => channel ?? []);
}

/** Codes for which the slowest call is evidence. */
const ABOUT_CALLS: ReadonlySet<string> = new Set([
  'no-threads',
  'calls-late',
  'target-missed',
  'processors',
  'garbage-collection',
  'calls-slow',
  'clients-slow',
  'threshold',
]);

/** Undefined for verdicts without a finding, and for a drain on request. */
function selectFinding(application: string, verdict: Verdict): FoundNow | undefined {
  const { subject, code, kind, name, text, sinceEpochMs } = withConfirmedNames(verdict);
  const troubled = ALERT_SUBJECTS.find((one) => one === subject);
  if (troubled === undefined || code === 'draining') return undefined;
  return { application, subject: troubled, code, kind, name, text, sinceEpochMs };
}
