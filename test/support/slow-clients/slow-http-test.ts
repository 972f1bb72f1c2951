/** https://github.com/shekyan/slowhttptest, Debian's package of that name: many clients that send or read as slowly as they can. */
import { spawn, spawnSync } from 'node:child_process';
import { exitOf } from '../sidecar-process.ts';

export const ATTACKS = ['slow headers', 'slow body', 'slow read'] as const;
export type Attack = (typeof ATTACKS)[number];

export interface AttackOptions {
  readonly attack: Attack;
  readonly port: number;
  readonly connections: number;
  readonly rate: number;
  readonly seconds: number;
  readonly intervalSeconds: number;
  /** Cores, as `taskset -c` takes them, e.g. `1`. Default: all. */
  readonly cores?: string | undefined;
}

export interface RunningAttack {
  output(): string;
  stop(): Promise<void>;
}

const KEPT_CHARS = 2_000;

export function isSlowHttpTestInstalled(): boolean {
  return spawnSync('slowhttptest', ['-h']).error === undefined;
}

export function startAttack(options: AttackOptions): RunningAttack {
  const { port, connections, rate, seconds, attack, cores } = options;
  const target = attack === 'slow read' ? '/large' : '/small';
  const parameters = [
    ...['-c', String(connections), '-r', String(rate), '-l', String(seconds), '-p', '3'],
    ...modeOf(options),
    ...['-u', `http://127.0.0.1:${port}${target}`],
  ];
  // A descriptor for each connection, possibly above the soft limit. A real attacker has a machine of its own.
  const pinned = cores === undefined ? '' : `taskset -c ${cores} `;
  const command = `ulimit -n "$(ulimit -Hn)"; exec nice -n 19 ${pinned}slowhttptest "$@"`;
  const child = spawn('bash', ['--norc', '-c', command, 'slowhttptest', ...parameters], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('latin1').on('data', (text: string) => {
      output = (output + text).slice(-KEPT_CHARS);
    });
  }
  return {
    output: () => output,
    stop: async () => {
      child.kill('SIGKILL');
      await exitOf(child);
    },
  };
}

function modeOf({ attack, intervalSeconds }: AttackOptions): readonly string[] {
  const interval = ['-i', String(intervalSeconds)];
  switch (attack) {
    case 'slow headers':
      return ['-H', '-x', '24', ...interval];
    case 'slow body':
      return ['-B', '-s', '4096', '-x', '10', ...interval];
    case 'slow read':
      // 32 bytes a second, through a window of at most 512.
      return ['-X', '-w', '256', '-y', '512', '-n', '1', '-z', '32', '-k', '1'];
  }
}
