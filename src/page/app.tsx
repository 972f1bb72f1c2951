/** The whole page, rendered from one state. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Credential } from './api.ts';
import { Events } from './events.tsx';
import { DefinitionList, Tooltip } from './explanations.tsx';
import { MinuteFigures } from './figures.tsx';
import { Header } from './header.tsx';
import { sumUpMinute } from './history-points.ts';
import { ItemView } from './item-views.tsx';
import { type PageState, readNowMs, type Shown, type Store } from './page-state.ts';
import { PastCharts } from './past-charts.tsx';
import { formatRoute } from './route.ts';
import { goToTables } from './scroll-to-tables.ts';
import { listChanges } from './sentences.ts';
import { SignIn } from './sign-in.tsx';
import { ConnectionNotice, Situation } from './situation.tsx';
import type { TableView } from './table-model.ts';
import { Table, Tabs } from './tables.tsx';
import { Targets } from './targets.tsx';
import { TimeCharts } from './time-charts.tsx';

export function App({ store, onCredential }: { store: Store; onCredential: (credential: Credential) => void }) {
  const [state, setState] = useState(store.state);
  useEffect(() => {
    // The state may have changed since the first render.
    setState(store.state);
    return store.subscribe(() => setState(store.state));
  }, [store]);
  const { connection, live, route } = state;
  const nowMs = readNowMs(state, performance.now());
  const application =
    live?.applications.find(({ name }) => name === route.application) ??
    (route.application === undefined ? live?.applications[0] : undefined);
  return (
    <>
      <button type="button" class="skip" onClick={goToTables}>
        Skip to the tables
      </button>
      <Header state={state} application={application?.name ?? live?.applications[0]?.name} nowMs={nowMs} />
      <main class={connection.kind === 'lost' || connection.kind === 'refused' ? 'stale' : ''}>
        <ConnectionNotice state={state} />
        {connection.kind === 'signIn' && (
          <SignIn detail={connection.detail} wasTried={connection.wasTried} onCredential={onCredential} />
        )}
        {connection.kind === 'loading' && <p class="empty">Reading the first numbers …</p>}
        {live !== undefined && application === undefined && (
          <p class="empty">There is no application “{route.application}” here. Choose another one above.</p>
        )}
        {live !== undefined && application !== undefined && <Numbers {...{ store, state, live, application, nowMs }} />}
      </main>
      <footer>
        <DefinitionList />
        <Keys />
        <p>
          The same numbers for programs: <ForPrograms path="metrics" state={state} />,{' '}
          <ForPrograms path="openapi.json" state={state} />
        </p>
      </footer>
      <Announcer state={state} nowMs={nowMs} />
      <Tooltip />
    </>
  );
}

/** Plain text if the browser cannot follow a link: it cannot send a token, and would ask for a password itself. */
function ForPrograms({ path, state: { live, credential } }: { path: string; state: PageState }) {
  return live === undefined || credential === 'token' ? <code>/{path}</code> : <a href={path}>/{path}</a>;
}

/** Shown by `?`; there are no others, since single letters would be in the way of speech input. */
const KEYS = {
  '?': 'shows or hides this list',
  Tab: 'goes on: tables, their rows and heads, figures, charts',
  Enter: 'on a row: its view; on a head: sorts by it, and again in the other order',
  '← → Home End': 'on the time axis: goes from step to step',
  Escape: 'hides an explanation, and leaves the time axis',
} as const;

function Keys() {
  const list = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const toggle = ({ key, target }: KeyboardEvent) => {
      const element = list.current;
      if (key !== '?' || element === null || target instanceof HTMLInputElement) return;
      element.open = !element.open;
      if (element.open) element.scrollIntoView({ block: 'nearest' });
    };
    document.addEventListener('keydown', toggle);
    return () => document.removeEventListener('keydown', toggle);
  }, []);
  return (
    <details ref={list} class="definitions">
      <summary>Keys (?)</summary>
      <dl>
        {Object.entries(KEYS).map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

/** Announces changes of state to screen readers. Never announces numbers, which change all the time. */
function Announcer({ state, nowMs }: { state: PageState; nowMs: number }) {
  const [said, say] = useState('');
  const before = useRef<PageState>(undefined);
  useEffect(() => {
    const news = before.current === undefined ? [] : listChanges(before.current, state, nowMs);
    before.current = state;
    if (news.length > 0) say(news.join(' '));
  }, [state, nowMs]);
  return (
    <div class="hidden" role="status" aria-live="polite">
      {said}
    </div>
  );
}

/** Each choice is a step back, but not each letter of a filter. The address names the application that is shown. */
function changeView(store: Store, application: string, change: Partial<TableView>): void {
  const { route } = store.state;
  const next = { ...route, application, view: { ...route.view, ...change } };
  const [method, hash] = [change.filter === undefined ? 'pushState' : 'replaceState', formatRoute(next)] as const;
  history[method](null, '', hash);
  store.update((state) => ({ ...state, route: next }));
}

function Numbers({ store, ...props }: Omit<Shown, 'points' | 'minute' | 'onView'> & { store: Store }) {
  const { state, application } = props;
  const { route } = state;
  const points = state.histories.get(application.name) ?? [];
  const minute = sumUpMinute(points, application.history.stepSeconds);
  const shown: Shown = { ...props, points, minute, onView: (change) => changeView(store, application.name, change) };
  return (
    <>
      <Situation {...shown} onRules={(areRulesOpen) => store.update((known) => ({ ...known, areRulesOpen }))} />
      <MinuteFigures {...shown} />
      {route.item === undefined && application.targets.length > 0 && <Targets {...shown} />}
      <div class="columns">
        <div class="side">
          <section class="panel tables" aria-labelledby="tables-heading">
            <h2 id="tables-heading" class="hidden" tabIndex={-1}>
              Calls, objects and sessions
            </h2>
            <Tabs {...shown} />
            {route.item === undefined ? (
              <Table {...shown} />
            ) : (
              <ItemView key={`${route.table}/${route.item}`} {...shown} />
            )}
          </section>
          <Events marks={route.view.past === undefined ? state.marks : (state.past?.marks ?? [])} {...shown} />
        </div>
        {route.view.past === undefined || props.live.archive === null ? (
          <TimeCharts {...shown} />
        ) : (
          <PastCharts {...shown} />
        )}
      </div>
    </>
  );
}
