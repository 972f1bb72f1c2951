/** The whole page, rendered from one state. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Announcer } from './announcer.tsx';
import type { Credential } from './api.ts';
import type { Charted } from './chart-specs.ts';
import { Events } from './events.tsx';
import { DefinitionList, Tooltip } from './explanations.tsx';
import { MinuteFigures } from './figures.tsx';
import { Header } from './header.tsx';
import { selectUsualMinutes, sumUpMinute } from './history-points.ts';
import { ItemView } from './item-views.tsx';
import { Keys } from './keys.tsx';
import type { Live, LiveApplication } from './live-data.ts';
import { DEFAULT_RANGE_S, type PageState, readNowMs } from './page-state.ts';
import { formatRoute } from './route.ts';
import { goToTables } from './scroll-to-tables.ts';
import { SignIn } from './sign-in.tsx';
import { ConnectionNotice, Situation } from './situation.tsx';
import type { Store } from './store.ts';
import type { TableView } from './table-model.ts';
import { Table, Tabs } from './tables.tsx';
import { TimeCharts } from './time-charts.tsx';

export interface AppProps {
  readonly store: Store<PageState>;
  readonly onCredential: (credential: Credential) => void;
}

export function App({ store, onCredential }: AppProps) {
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
        {live !== undefined && application !== undefined && (
          <Numbers store={store} state={state} live={live} application={application} nowMs={nowMs} />
        )}
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

/** Each choice is a step back, but not each letter of a filter. */
function changeView(store: Store<PageState>, change: Partial<TableView>): void {
  const { route } = store.state;
  const next = { ...route, view: { ...route.view, ...change } };
  const [method, hash] = [change.filter === undefined ? 'pushState' : 'replaceState', formatRoute(next)] as const;
  history[method](null, '', hash);
  store.update((state) => ({ ...state, route: next }));
}

function selectCharted({ jvm, server }: Live): Charted {
  return {
    hasJvm: jvm.state !== 'none',
    heapMax: jvm.heapMax,
    threadsMax: server['threads.max'] ?? null,
    hasCores: server['process.cpu'] !== undefined,
    processors: server.processors ?? null,
  };
}

interface NumbersProps {
  readonly store: Store<PageState>;
  readonly state: PageState;
  readonly live: Live;
  readonly application: LiveApplication;
  readonly nowMs: number;
}

function Numbers({ store, state, live, application, nowMs }: NumbersProps) {
  const points = state.histories.get(application.name) ?? [];
  const { route } = state;
  const onView = (change: Partial<TableView>) => changeView(store, change);
  const { stepSeconds } = application.history;
  const minute = sumUpMinute(points, stepSeconds);
  const minutes = useMemo(() => selectUsualMinutes(points, stepSeconds), [points, stepSeconds]);
  return (
    <>
      <Situation
        live={live}
        application={application}
        points={points}
        restartedAtMs={state.restartedAtMs}
        nowMs={nowMs}
        rules={state.rules}
        onRules={(areRulesOpen) => store.update((known) => ({ ...known, areRulesOpen }))}
      />
      <MinuteFigures application={application} minute={minute} minutes={minutes} heapMax={live.jvm.heapMax} />
      <div class="columns">
        <div class="side">
          <section class="panel tables" aria-labelledby="tables-heading">
            <h2 id="tables-heading" class="hidden" tabIndex={-1}>
              Calls, objects and sessions
            </h2>
            <Tabs state={state} application={application} />
            {route.item === undefined ? (
              <Table {...{ state, application, nowMs, onView }} />
            ) : (
              <ItemView key={`${route.table}/${route.item}`} {...{ state, application, nowMs, onView }} />
            )}
          </section>
          <Events marks={state.marks} nowMs={nowMs} />
        </div>
        <TimeCharts
          application={application}
          points={points}
          minute={minute}
          marks={state.marks}
          nowMs={nowMs}
          rangeS={route.view.rangeS ?? DEFAULT_RANGE_S}
          charted={selectCharted(live)}
          onRange={(rangeS) => onView({ rangeS })}
        />
      </div>
    </>
  );
}
