/** https://github.com/shekyan/slowhttptest, Debian's package of that name: many clients that send or read as slowly as they can. */
import { spawn, spawnSync } from 'node:child_process';
import { exitOf } from '../sidecar-process.ts';

const KEPT_CHARS = 2_000;
const LONGEST_S = '90';

const MODES = {
  // A head has a total limit, a body an idle limit.
  'slow headers': ['-H', '-x', '24', '-i', '1'],
  'slow body': ['-B', '-s', '4096', '-x', '10', '-i', LONGEST_S],
  // 32 bytes a second, through a window of at most 512.
  'slow read': ['-X', '-w', '256', '-y', '512', '-n', '1', '-z', '32', '-k', '1'],
};

export type Attack = keyof typeof MODES;
export type RunningAttack = ReturnType<typeof startAttack>;

export function isSlowHttpTestInstalled(): boolean {
  return spawnSync('slowhttptest', ['-h']).error === undefined;
}

export function startAttack(attack: Attack, port: number, connections: number) {
  const url = `http://127.0.0.1:${port}${attack === 'slow read' ? '/large' : '/small'}`;
  const parameters = ['-c', String(connections), '-r', '1000', '-l', LONGEST_S, '-p', '3', ...MODES[attack], '-u', url];
  // A descriptor for each connection, possibly above the soft limit. A real attacker has a machine of its own.
  const command = 'ulimit -n "$(ulimit -Hn)"; exec nice -n 19 slowhttptest "$@"';
  const child = spawn('bash', ['--norc', '-c', command, 'slowhttptest', ...parameters], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('latin1').on('data', (text: string) => {
      output = (output + text).slice(-KEPT_CHARS);
    });
  }
  const stop = async () => {
    child.kill('SIGKILL');
    await exitOf(child);
  };
  return { output: () => output, stop };
}
