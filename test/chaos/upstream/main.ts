/**
 * The scripted upstream as a process: `node upstream/main.js <port> <seed> <ledger file> [lie]`. Commands come as messages
 * (see commands.ts); it ends with its parent.
 */
import type { UpstreamCommand } from './commands.ts';
import { FileLedger } from './ledger.ts';
import { type LieKind, Lies } from './lies.ts';
import { ScriptedUpstream } from './scripted-upstream.ts';

const [port = '0', seed = '0', ledgerFile = '', lie] = process.argv.slice(2);
const upstream = new ScriptedUpstream({
  seed: Number(seed),
  ledger: new FileLedger(ledgerFile),
  lies: new Lies(lie as LieKind | undefined),
  isDirect: false,
});

async function obey(command: UpstreamCommand): Promise<unknown> {
  switch (command.kind) {
    case 'refuse':
      return upstream.refuse();
    case 'accept':
      return await upstream.listen(Number(port));
    case 'reset-new':
      return upstream.setResetting(command.isOn);
    case 'reset-all':
      return upstream.resetAll();
    case 'list':
      return upstream.openCalls;
  }
}

process.on('message', (command: UpstreamCommand) => {
  void obey(command).then((result) => process.send?.({ number: command.number, result }));
});
process.on('disconnect', () => process.exit(0));
process.on('SIGTERM', () => {
  upstream.close();
  process.exit(0);
});
await upstream.listen(Number(port));
process.send?.({ number: 0 });
