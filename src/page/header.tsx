/** The sidecar's version, the chosen application, and whether the numbers are current. */
import { Time } from './explanations.tsx';
import type { PageState } from './page-state.ts';
import { formatRoute } from './route.ts';

interface HeaderProps {
  readonly state: PageState;
  /** The chosen one, or the first. */
  readonly application: string | undefined;
  readonly nowMs: number;
}

export function Header({ state, application, nowMs }: HeaderProps) {
  const { live } = state;
  return (
    <header class="page-head">
      <div class="brand">
        <svg
          viewBox="0 0 32 32"
          width="22"
          height="22"
          fill="none"
          stroke-width="3"
          stroke-linecap="round"
          aria-hidden="true"
        >
          <path d="M3 19h6l3-11 6 16 3-9h8" />
        </svg>
        <h1>d2-sidecar</h1>
        {live !== undefined && <span class="version">{live.version}</span>}
      </div>
      {live !== undefined && application !== undefined && <Chooser state={state} application={application} />}
      <Pulse state={state} nowMs={nowMs} />
    </header>
  );
}

function Chooser({ state, application }: { state: PageState; application: string }) {
  const applications = state.live?.applications ?? [];
  if (applications.length < 2) return <span class="application">{toLabel(application)}</span>;
  return (
    <label class="application">
      <span class="hidden">Application</span>
      <select
        value={application}
        onChange={(event) => {
          location.hash = formatRoute({ application: event.currentTarget.value, table: state.route.table });
        }}
      >
        {applications.map(({ name }) => (
          <option key={name} value={name}>
            {toLabel(name)}
          </option>
        ))}
      </select>
    </label>
  );
}

function toLabel(application: string): string {
  return application === '' ? '/ (root)' : application;
}

/** No live region: a screen reader would announce every new time. */
function Pulse({ state, nowMs }: { state: PageState; nowMs: number }) {
  const { connection, live } = state;
  if (connection.kind === 'live' && live !== undefined) {
    return (
      <p class="pulse live">
        <b class="good badge">Live</b> <Time epochMs={Date.parse(live.now)} nowMs={nowMs} />
      </p>
    );
  }
  const text = {
    lost: 'Connection lost',
    loading: 'Connecting …',
    signIn: 'Not signed in',
    refused: 'Refused',
    live: '',
  };
  return <p class={`pulse ${connection.kind}`}>{text[connection.kind]}</p>;
}
