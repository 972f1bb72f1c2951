/**
 * The live page at `/` of the monitoring port. It runs in the browser, knows of the server only what `live-data.ts`
 * describes, and never changes anything there. Begin with `app.tsx` (the content) and `poller.ts` (the data).
 */
import { render } from 'preact';
import { Api, type Credential } from './api.ts';
import { App } from './app.tsx';
import { createInitialState, Store } from './page-state.ts';
import { startPastLoader } from './past-loader.ts';
import { createPoller } from './poller.ts';
import { formatRoute, keepRange, parseRoute } from './route.ts';

const store = new Store(createInitialState(parseRoute(location.hash)));
const api = new Api();
const poller = createPoller(api, store);

addEventListener('hashchange', () => {
  const linked = parseRoute(location.hash);
  const route = keepRange(store.state.route, linked);
  if (route !== linked) history.replaceState(null, '', formatRoute(route));
  store.update((state) => ({ ...state, route }));
  poller.wake();
});

function useCredential(credential: Credential): void {
  api.use(credential);
  store.update((state) => ({ ...state, credential: credential.kind }));
  poller.now();
}

const root = document.getElementById('page');
if (root !== null) render(<App store={store} onCredential={useCredential} />, root);
startPastLoader(api, store);
poller.now();
