/** The line that answers "is it the server, the network, or a client?", and sentences on everything else. */
import { explained } from './explanations.tsx';
import { formatTime } from './format.ts';
import type { Subject, Verdict, VerdictRule } from './live-data.ts';
import { explainTraffic } from './news.ts';
import type { Connection, PageState, Shown } from './page-state.ts';
import { formatRoute } from './route.ts';
import { showTables } from './scroll-to-tables.ts';
import { describeSituation, type Sentence } from './sentences.ts';
import { Time } from './time.tsx';

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

/** `onRules`: called when the reader opens or closes the rules. */
export function Situation({ onRules, ...shown }: Shown & { onRules: (areOpen: boolean) => void }) {
  const { state, live, application, nowMs } = shown;
  const { verdict } = application;
  const { restartedAtMs, rules } = state;
  const sentences = [...describeSituation(live, nowMs), ...explainTraffic({ ...shown, restartedAtMs })];
  return (
    <section class={`panel situation ${TONES[verdict.subject]}`} aria-labelledby="situation-heading">
      <h2 id="situation-heading" class="hidden">
        Is it the server, the network, or a client?
      </h2>
      <p class="verdict">
        <button type="button" class="badge" {...explained('verdict')}>
          {SUBJECTS[verdict.subject]}
        </button>
        <span class="verdict-text">
          {verdict.text}{' '}
          <span class="verdict-more">
            Since <Time epochMs={Date.parse(verdict.since)} nowMs={nowMs} />.{' '}
            <Suspect application={application.name} verdict={verdict} />
          </span>
        </span>
      </p>
      <ul class="sentences">
        {sentences.map(({ tone, text }) => (
          <li key={text} class={tone}>
            <Sign tone={tone} />
            {text}
          </li>
        ))}
      </ul>
      <Rules rules={rules} onToggle={onRules} />
    </section>
  );
}

/** A link to the view of the call to look at first. */
function Suspect({ application, verdict: { kind, name } }: { application: string; verdict: Verdict }) {
  if (name === null || (kind !== 'rpc' && kind !== 'sba')) return null;
  return (
    <a class="worst" href={formatRoute({ application, table: kind, item: name })} onClick={showTables}>
      Look at {name}
    </a>
  );
}

/** A different shape per tone: colour alone is lost on readers who cannot see it. */
function Sign({ tone }: Pick<Sentence, 'tone'>) {
  const paths = {
    good: 'M3 8.5l3.2 3.2L13 5',
    info: 'M8 7v5M8 4v.5',
    warn: 'M8 2.5L14.5 13.5H1.5zM8 6.5v3.5M8 11.6v.4',
    bad: 'M4 4l8 8M12 4l-8 8',
  };
  return (
    <svg class="sign" viewBox="0 0 16 16" width="14" height="14" fill="none" stroke-width="2" aria-hidden="true">
      <path d={paths[tone]} />
    </svg>
  );
}

function Rules({ rules, onToggle }: { rules: readonly VerdictRule[]; onToggle: (areOpen: boolean) => void }) {
  return (
    <details class="rules" onToggle={({ currentTarget }) => onToggle(currentTarget.open)}>
      <summary>How this is judged</summary>
      <p>{rules.length === 0 ? 'Reading the rules …' : 'From the top, the first rule that applies:'}</p>
      <ol>
        {rules.map(({ code, text, applies }) => (
          <li key={code} class={applies ? 'applies' : ''}>
            <b>{code}</b>
            {applies ? ' (applies)' : ''} – {text}
          </li>
        ))}
      </ol>
    </details>
  );
}

/** Shown instead of live numbers. */
export function ConnectionNotice({ state }: { state: PageState }) {
  const { connection } = state;
  const text = describeNotice(connection);
  if (text === undefined) return null;
  return (
    <p class={`notice ${connection.kind}`} role="alert">
      {text}
    </p>
  );
}

function describeNotice(connection: Connection): string | undefined {
  if (connection.kind === 'refused') return connection.detail;
  if (connection.kind !== 'lost') return undefined;
  const { sinceMs, reason } = connection;
  if (sinceMs === undefined) return `The monitoring port cannot be reached (${reason}). Trying again every 2 s.`;
  return `The connection to the sidecar has been lost since ${formatTime(sinceMs, sinceMs)} (${reason}). The numbers are from then. Trying again every 2 s.`;
}
