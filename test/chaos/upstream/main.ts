/** The scripted upstream as a process: `node upstream/main.js <port> <seed> <ledger file>`. It ends with its parent. */
import { obeyOrders } from '../../support/load/orders.ts';
import { Ledger } from '../truth/ledger.ts';
import { ScriptedUpstream } from './scripted-upstream.ts';

const [port, seed, ledgerFile = ''] = process.argv.slice(2);
const upstream = new ScriptedUpstream({ seed: Number(seed), ledger: new Ledger(ledgerFile) });
await upstream.listen(Number(port));

obeyOrders({
  refuse: () => upstream.refuse(),
  accept: () => upstream.listen(Number(port)),
  'reset-new': (isOn: boolean) => upstream.setResetting(isOn),
  'reset-all': () => upstream.resetAll(),
  list: () => upstream.openCalls,
});
