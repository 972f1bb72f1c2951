/** The one line that answers "is it the server, the network, or a client?", and what is known besides, as sentences. */
import { explained } from './explanations.tsx';
import { toSpan, toTime } from './format.ts';
import type { HistoryPoint, Live, LiveApplication } from './live-data.ts';
import type { Connection, PageState } from './page-state.ts';
import { type Sentence, toSentences } from './sentences.ts';
import { type Subject, toVerdict, type Verdict } from './verdict.ts';

export interface SituationProps {
  readonly live: Live;
  readonly application: LiveApplication;
  readonly points: readonly HistoryPoint[];
  readonly restartedAtMs: number | undefined;
  readonly nowMs: number;
}

const SUBJECTS: Readonly<Record<Subject, string>> = {
  server: 'Server',
  network: 'Network',
  client: 'Client',
  sidecar: 'Sidecar',
  nobody: 'All well',
  unknown: 'Quiet',
};

const TONES: Readonly<Record<Subject, string>> = {
  server: 'bad',
  network: 'bad',
  client: 'warn',
  sidecar: 'warn',
  nobody: 'good',
  unknown: 'info',
};

export function Situation({ live, application, points, restartedAtMs, nowMs }: SituationProps) {
  const verdict = toVerdict({ live, application, points, nowMs });
  const sentences = [...toSentences(live, nowMs), ...toNews(live, application, points, restartedAtMs, nowMs)];
  return (
    <section class={`panel situation ${TONES[verdict.subject]}`} aria-labelledby="situation-heading">
      <h2 id="situation-heading" class="hidden">
        Is it the server, the network, or a client?
      </h2>
      <p class="verdict">
        <button type="button" class="badge" {...explained('verdict')}>
          {SUBJECTS[verdict.subject]}
        </button>
        <span class="verdict-text">{verdict.text}</span>
      </p>
      <ul class="sentences">
        {sentences.map(({ tone, text }) => (
          <li key={text} class={tone}>
            <Sign tone={tone} />
            {text}
          </li>
        ))}
      </ul>
      <Rules verdict={verdict} />
    </section>
  );
}

/** A form of its own for each tone: colour alone tells nothing to who does not see it. */
function Sign({ tone }: Pick<Sentence, 'tone'>) {
  const paths = {
    good: 'M3 8.5l3.2 3.2L13 5',
    info: 'M8 7v5M8 4v.5',
    warn: 'M8 2.5L14.5 13.5H1.5zM8 6.5v3.5M8 11.6v.4',
    bad: 'M4 4l8 8M12 4l-8 8',
  };
  return (
    <svg class="sign" viewBox="0 0 16 16" aria-hidden="true">
      <path d={paths[tone]} />
    </svg>
  );
}

function Rules({ verdict }: { verdict: Verdict }) {
  return (
    <details class="rules">
      <summary>How this is judged</summary>
      <p>From the top, the first rule that holds:</p>
      <ol>
        {verdict.rules.map(({ name, text, holds }) => (
          <li key={name} class={holds ? 'holds' : ''}>
            <b>{name}</b> {holds ? '(holds)' : ''} – {text}
          </li>
        ))}
      </ol>
    </details>
  );
}

const HOUR_MS = 3_600_000;

/** What explains an empty page: a start, a restart, no traffic. */
function toNews(
  live: Live,
  application: LiveApplication,
  points: readonly HistoryPoint[],
  restartedAtMs: number | undefined,
  nowMs: number,
): Sentence[] {
  const news: Sentence[] = [];
  const sinceStartS = (nowMs - Date.parse(live.startTime)) / 1000;
  // Later the charts do not reach back to it any more.
  if (restartedAtMs !== undefined && nowMs - restartedAtMs < HOUR_MS) {
    const text = `The sidecar was restarted at ${toTime(restartedAtMs, nowMs)}: what is shown over time begins there.`;
    news.push({ tone: 'info', text });
  } else if (sinceStartS < 60) {
    const text = `Measuring began ${toSpan(sinceStartS)} ago: the charts fill from the right, and figures of the last minute cover less than one.`;
    news.push({ tone: 'info', text });
  }
  const { sessions, name } = application;
  const isQuiet = points.every(
    ({ rpc, sba, values, aborted }) => rpc[0] + rpc[1] + sba[0] + sba[1] + values + aborted === 0,
  );
  if (isQuiet && sessions.created === 0) {
    const text = `No traffic of ${name === '' ? 'the application' : name} has passed yet. Clients have to call the sidecar's port in place of the server's.`;
    news.push({ tone: 'info', text });
  }
  return news;
}

/** What takes the place of being live. */
export function ConnectionNotice({ state }: { state: PageState }) {
  const { connection } = state;
  const text = toNotice(connection);
  if (text === undefined) return null;
  return (
    <p class={`notice ${connection.kind}`} role="alert">
      {text}
    </p>
  );
}

function toNotice(connection: Connection): string | undefined {
  if (connection.kind === 'refused') return connection.detail;
  if (connection.kind !== 'lost') return undefined;
  const { sinceMs, reason } = connection;
  if (sinceMs === undefined) return `The monitoring port cannot be reached (${reason}). Trying again every 2 s.`;
  return `The connection to the sidecar has been lost since ${toTime(sinceMs, sinceMs)} (${reason}). What is shown is of then. Trying again every 2 s.`;
}
