/**
 * The live page at `/` of the monitoring port. Runs in the browser, knows nothing of the server but what `live-data.ts` says, and
 * changes nothing there. Begin with `app.tsx` (what is shown) and `poller.ts` (where it comes from).
 */
import { render } from 'preact';
import { Api, type Credential } from './api.ts';
import { App } from './app.tsx';
import { type PageState, toInitialState } from './page-state.ts';
import { Poller } from './poller.ts';
import { parseRoute } from './route.ts';
import { Store } from './store.ts';

const store = new Store<PageState>(toInitialState(parseRoute(location.hash)));
const api = new Api();
const poller = new Poller(api, store);

addEventListener('hashchange', () => {
  store.update((state) => ({ ...state, route: parseRoute(location.hash) }));
  poller.wake();
});

function useCredential(credential: Credential): void {
  api.use(credential);
  store.update((state) => ({ ...state, credential: credential.kind }));
  poller.now();
}

const root = document.getElementById('page');
if (root !== null) render(<App store={store} onCredential={useCredential} />, root);
poller.start();
