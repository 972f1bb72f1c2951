/** The line that answers "is it the server, the network, or a client?", and sentences on everything else. */
import { explained, Time } from './explanations.tsx';
import { formatTime } from './format.ts';
import type { Subject, Verdict, VerdictRule } from './live-data.ts';
import type { Connection, PageState, Shown } from './page-state.ts';
import { formatRoute } from './route.ts';
import { showTables } from './scroll-to-tables.ts';
import { describeSituation, explainTraffic, type Tone } from './sentences.ts';

const SUBJECTS: Readonly<Record<Subject, { readonly label: string; readonly tone: Tone }>> = {
  server: { label: 'Server', tone: 'bad' },
  network: { label: 'Network', tone: 'bad' },
  client: { label: 'Client', tone: 'warn' },
  sidecar: { label: 'Sidecar', tone: 'warn' },
  nobody: { label: 'All well', tone: 'good' },
  unknown: { label: 'Quiet', tone: 'info' },
};

/** `onRules`: called when the reader opens or closes the rules. */
export function Situation({ onRules, ...shown }: Shown & { onRules: (areOpen: boolean) => void }) {
  const { state, live, application, nowMs } = shown;
  const { verdict } = application;
  const { restartedAtMs, rules } = state;
  const { label, tone } = SUBJECTS[verdict.subject];
  const sentences = [...describeSituation(live, nowMs), ...explainTraffic({ ...shown, restartedAtMs })];
  return (
    <section class={`panel situation ${tone}`} aria-labelledby="situation-heading">
      <h2 id="situation-heading" class="hidden">
        Is it the server, the network, or a client?
      </h2>
      <p class="verdict">
        <button type="button" class="badge" {...explained('verdict')}>
          {label}
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
function Sign({ tone }: { tone: Tone }) {
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
export function ConnectionNotice({ state: { connection } }: { state: PageState }) {
  if (connection.kind !== 'lost' && connection.kind !== 'refused') return null;
  return (
    <p class={`notice ${connection.kind}`} role="alert">
      {connection.kind === 'lost' ? describeLoss(connection) : connection.detail}
    </p>
  );
}

function describeLoss({ sinceMs, reason }: Extract<Connection, { kind: 'lost' }>): string {
  if (sinceMs === undefined) return `The monitoring port cannot be reached (${reason}). Trying again every 2 s.`;
  return `The connection to the sidecar has been lost since ${formatTime(sinceMs, sinceMs)} (${reason}). The numbers are from then. Trying again every 2 s.`;
}
